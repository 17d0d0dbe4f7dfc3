"""Who may answer a question that people are asked (pure). The rule is data: written by whoever defines the tool,
kept with the question, and the same wherever the answer comes from.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from msgspec import Struct

from engine.chat.content import Author
from engine.chat.ids import ToolCallId
from engine.chat.subjects import person_mistake

ANYONE: Final = "anyone"
ASKER: Final = "asker"
GROUP: Final = "group:"
"""Begins the name of a group that administrators keep, `threadwright groups`."""
PLATFORM_GROUP: Final = "usergroup:"
"""Begins the name of a group that a platform keeps: usergroup:slack:T012:S345."""
ENTRIES_MAX: Final = 100
"""Entries of one rule; more people than that are a group."""
_PLATFORM_GROUP: Final = re.compile(r"usergroup:[a-z][a-z0-9_-]*:[^\s:]+:[^\s:]+")


class Answerers(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Those who may answer; whoever any part of it names. Where there is no rule, anyone may.

    `asker`: whoever wrote the message that is being answered. `people`: identities. `groups`: with
    their beginning, `group:` or `usergroup:`.
    """

    asker: bool = False
    people: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()


class Barred(Struct, frozen=True, kw_only=True):
    """A pending call that somebody may not answer, and who may, in words."""

    tool_call_id: ToolCallId
    who_may: str


def parse_answerers(raw: Any) -> Answerers | None:
    """The rule that a tool's definition writes; None: anyone. Raises ValueError saying how to mend it."""
    entries = [raw] if isinstance(raw, str) else raw
    if not isinstance(entries, list | tuple) or not entries:
        raise ValueError(_EXPECTED)
    if len(entries) > ENTRIES_MAX:
        raise ValueError(f"at most {ENTRIES_MAX} entries; put people into a group")
    if ANYONE in entries:
        if len(entries) > 1:
            raise ValueError('"anyone" stands alone')
        return None
    for entry in entries:
        if mistake := _mistake(entry):
            raise ValueError(f"{entry!r} {mistake}")
    others = [entry for entry in dict.fromkeys(entries) if entry != ASKER]
    return Answerers(
        asker=ASKER in entries,
        people=tuple(entry for entry in others if not _is_group(entry)),
        groups=tuple(entry for entry in others if _is_group(entry)),
    )


def may_answer(
    answerers: Answerers | None,
    *,
    asker: Author | None,
    by: Author | None,
    groups: Collection[str] = (),
) -> bool:
    """Whether `by` may answer. `groups`: those of the rule that they are in.

    Who is not known may answer only what anyone may.
    """
    if answerers is None:
        return True
    if by is None:
        return False
    is_asker = answerers.asker and asker is not None and asker.identity == by.identity
    return (
        is_asker
        or by.identity in answerers.people
        or any(group in groups for group in answerers.groups)
    )


def who_may(
    answerers: Answerers, *, asker: Author | None, names: Mapping[str, str] | None = None
) -> str:
    """Those who may answer, in words. `names`: what people and groups are called, where that is known."""
    names = names or {}
    said = []
    if answerers.asker:
        said.append((asker.name if asker else "") or "whoever asked")
    said += [names.get(person, person) for person in answerers.people]
    said += [names.get(group) or _group_words(group) for group in answerers.groups]
    said = list(dict.fromkeys(said))
    return " or ".join(part for part in (", ".join(said[:-1]), said[-1]) if part)


def barred_calls(
    asked: Iterable[tuple[ToolCallId, Answerers, Author | None]],
    *,
    by: Author | None,
    groups: Collection[str],
) -> tuple[Barred, ...]:
    """Those of the calls that somebody may not answer."""
    return tuple(
        Barred(tool_call_id=call_id, who_may=who_may(answerers, asker=asker))
        for call_id, answerers, asker in asked
        if not may_answer(answerers, asker=asker, by=by, groups=groups)
    )


def refusal_words(who: str) -> str:
    """What somebody is told who may not answer; `who` may, in words."""
    return f"Only {who} may answer this."


_EXPECTED: Final = (
    '"anyone", "asker", or a list of "asker", identities such as slack:T012:U345, group:NAME and '
    "usergroup:slack:T012:S345"
)


def _mistake(entry: Any) -> str | None:
    if not isinstance(entry, str):
        return f"is no text; expected {_EXPECTED}"
    if entry == ASKER:
        return None
    if entry.startswith(PLATFORM_GROUP):
        if _PLATFORM_GROUP.fullmatch(entry):
            return None
        return "must be usergroup:platform:installation:id, such as usergroup:slack:T012:S345"
    if entry.startswith(GROUP):
        return None if entry.removeprefix(GROUP).strip() else "must name a group: group:NAME"
    return person_mistake(entry)


def _is_group(entry: str) -> bool:
    return entry.startswith((GROUP, PLATFORM_GROUP))


def _group_words(group: str) -> str:
    if group.startswith(GROUP):
        return f"members of {group.removeprefix(GROUP)}"
    return f"members of the user group {group.rpartition(':')[2]}"
