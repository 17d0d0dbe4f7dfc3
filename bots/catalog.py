"""The bots there are: one folder per bot with `bot.toml` and its persona, read once at start."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

from config.bot_file import BotFile, parse_bot_file
from config.errors import ConfigInvalid, Problem
from config.settings import SlackSettings
from config.slack_apps import slack_apps
from engine.chat.answerers import parse_answerers

SHIPPED_BOTS: Final = Path(__file__).parent
DEFAULT_BOT: Final = "assistant"
_FILE: Final = "bot.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bot:
    """A bot as the agent sees it: its key, what its file says, and who it is."""

    key: str
    file: BotFile
    persona: str


def load_bots(bots_dir: str | None = None) -> Mapping[str, Bot]:
    """Return every bot under `bots_dir`, else those that are shipped, by the name of its folder.

    Raises `ConfigInvalid` with the mistakes of all bots together, or when there is none.
    """
    folder = Path(bots_dir) if bots_dir else SHIPPED_BOTS
    bots: dict[str, Bot] = {}
    problems: list[Problem] = []
    for path in sorted(folder.glob(f"*/{_FILE}")):
        try:
            bots[path.parent.name] = _load_bot(path)
        except ConfigInvalid as invalid:
            problems.extend(invalid.problems)
    if not bots and not problems:
        mend = f"make a folder with {_FILE} and persona.md in it"
        problems.append(Problem(where=str(folder), what="holds no bot", mend=mend))
    if problems:
        raise ConfigInvalid(problems)
    return MappingProxyType(bots)


def names_of(bots: Mapping[str, Bot]) -> list[str]:
    """All bots, the one that is meant when nobody says which first."""
    return sorted(bots, key=lambda name: (name != DEFAULT_BOT, name))


def bots_of_apps(slack: SlackSettings, names: Sequence[str]) -> Mapping[str, str]:
    """Return which bot answers for each Slack app. Raises `ConfigInvalid` for one that there is not."""
    found: dict[str, str] = {}
    problems: list[Problem] = []
    for app, own in slack_apps(slack).items():
        found[app] = own.bot or names[0]
        if found[app] not in names:
            where = f"slack.apps.{app}.bot" if app else "slack.bot"
            mend = f"choose one of {', '.join(names)}, or name their folder in bots_dir"
            problems.append(Problem(where=where, what=f"there is no bot {own.bot}", mend=mend))
    if problems:
        raise ConfigInvalid(problems)
    return found


def _load_bot(path: Path) -> Bot:
    file = parse_bot_file(str(path), _read(path, named_by=path))
    persona_path = path.parent / file.persona
    if persona_path.resolve().parent != path.parent.resolve():
        mend = "keep the persona in the bot's own folder"
        raise ConfigInvalid([Problem(where=str(path), what="persona leads elsewhere", mend=mend)])
    persona = _read(persona_path, named_by=path).strip()
    if not persona:
        mend = "say in a few sentences who the bot is"
        raise ConfigInvalid([Problem(where=str(persona_path), what="is empty", mend=mend)])
    try:
        parse_answerers(file.tools.answerers)
    except ValueError as error:
        where, mend = f"{path}: tools.answerers", str(error)
        problem = Problem(where=where, what="names nobody who could answer", mend=mend)
        raise ConfigInvalid([problem]) from error
    return Bot(key=path.parent.name, file=file, persona=persona)


def _read(path: Path, *, named_by: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        what = f"cannot be read: {error.strerror}"
        mend = f"make the file, or name another in {named_by}"
        raise ConfigInvalid([Problem(where=str(path), what=what, mend=mend)]) from error
    except UnicodeDecodeError as error:
        problem = Problem(where=str(path), what="is not UTF-8 text", mend="save it as UTF-8")
        raise ConfigInvalid([problem]) from error
