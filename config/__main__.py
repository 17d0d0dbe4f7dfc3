"""Rewrite what is generated from the settings: the tables of README.md, and defaults.toml."""

from pathlib import Path

from config.display import defaults_toml, with_reference_table


def main() -> None:
    """Write both files in place."""
    folder = Path(__file__).parent
    (folder / "defaults.toml").write_text(defaults_toml(), encoding="utf-8")
    readme = folder / "README.md"
    readme.write_text(with_reference_table(readme.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
