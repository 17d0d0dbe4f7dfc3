"""What is written behind the slash command: a word, and what it is about (pure)."""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from typing import Final

from adapters.slack.plain_labels import label_of

UNKNOWN_MAX: Final = 40
"""Characters of an unknown word that are said back."""


class Verb(StrEnum):
    """What the command can be asked for."""

    HELP = "help"
    NEW = "new"
    STOP = "stop"
    STATUS = "status"
    MODEL = "model"
    TOOLS = "tools"
    USAGE = "usage"


_HELP: Final[Mapping[Verb, str]] = {
    Verb.NEW: "`new` and a question begins a chat here; without one it opens a form",
    Verb.STOP: "`stop` stops what I am doing for you in this channel",
    Verb.STATUS: "`status` lists your chats in this channel and how they are getting on",
    Verb.MODEL: "`model` changes which model answers in one of your chats here",
    Verb.TOOLS: "`tools` tells what I can use",
    Verb.USAGE: "`usage` tells what you have spent and what you may spend",
    Verb.HELP: "`help` shows this",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandLine:
    """A command as it was meant. `unknown`: the word that means nothing, for which help is shown."""

    verb: Verb
    rest: str = ""
    unknown: str = ""


def read_command(text: str) -> CommandLine:
    """Read what was written, in any case and with any space; nothing means help. Never raises."""
    word, _, rest = text.strip().partition(" ")
    if not word:
        return CommandLine(verb=Verb.HELP)
    first, *more = word.split(None, 1)
    try:
        verb = Verb(first.casefold())
    except ValueError:
        return CommandLine(verb=Verb.HELP, unknown=first)
    return CommandLine(verb=verb, rest=" ".join((*more, rest)).strip())


def help_text(command: str, *, unknown: str = "") -> str:
    """What can be said, in mrkdwn; of an unknown word, which known one is nearest."""
    lines = [f"• {said}" for said in _HELP.values()]
    shown = label_of(command or "/agent", UNKNOWN_MAX)
    intro = f"What you can write behind {shown}:"
    if unknown:
        nearest = get_close_matches(unknown.casefold(), [verb.value for verb in Verb], n=1)
        hint = f" Did you mean `{nearest[0]}`?" if nearest else ""
        intro = f"I do not know “{label_of(unknown, UNKNOWN_MAX)}”.{hint}\n{intro}"
    return "\n".join([intro, *lines])
