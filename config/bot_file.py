"""What a bot's own folder may say: `bot.toml`, checked as strictly as the settings (pure)."""

from dataclasses import dataclass, field

from config.errors import ConfigInvalid, Problem
from config.raw import converted, raws_of_toml
from config.schema import build, setting, specs_of


@dataclass(frozen=True, slots=True, kw_only=True)
class BotModel:
    """The model this bot uses where it differs from the one in the settings."""

    provider: str | None = setting(None, "Name of a provider; empty means that of the model.")
    name: str | None = setting(
        None, "Model name, or `provider:model`; empty means the default of the provider, or of all."
    )
    temperature: float | None = setting(None, "Sampling temperature.", at_least=0, at_most=2)
    max_output_tokens: int | None = setting(None, "Most tokens of one answer.", at_least=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class BotTools:
    """Which of the tools there are this bot is offered."""

    allow: tuple[str, ...] = setting(("*",), "Name patterns, such as `github__*`.")
    answerers: tuple[str, ...] = setting(
        ("anyone",),
        "Who may answer what the bot asks: `anyone`, `asker`, identities, `group:NAME`, "
        "`usergroup:slack:TEAM:ID`.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class BotFile:
    """The contents of one `bot.toml`."""

    name: str = setting("Threadwright", "Name that people see.")
    description: str | None = setting(None, "One line about the bot, for lists.")
    persona: str = setting("persona.md", "File in the bot's folder that says who it is.")
    instructions: str | None = setting(None, "Further instructions, added to the persona.")
    suggested_prompts: tuple[str, ...] = setting(
        (), "First messages that are suggested where a platform can; Slack shows four."
    )
    model: BotModel = field(default_factory=BotModel)
    tools: BotTools = field(default_factory=BotTools)


def parse_bot_file(where: str, text: str) -> BotFile:
    """Return the bot that a TOML text defines, or raise `ConfigInvalid` with every problem."""
    specs = {spec.path: spec for spec in specs_of(BotFile)}
    problems: list[Problem] = []
    raws = raws_of_toml(where, text, specs, problems)
    bot = build(BotFile, dict(converted(raws, specs, problems)))
    if problems:
        raise ConfigInvalid(problems)
    return bot
