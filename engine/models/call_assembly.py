"""Put tool calls together from their pieces, whichever of index, id and name a server leaves out.

Pure. Ids are unique within the answer and the same for the same stream; a missing one is made up
from the position of the call.
"""

from collections.abc import Iterable

import msgspec

from engine.chat.content import ToolCallPart
from engine.chat.ids import ToolCallId
from engine.models.parts import ToolCallDelta


class _Call:
    __slots__ = ("args", "call_id", "index", "last_sign", "name", "wire_id")

    def __init__(self, *, call_id: str, wire_id: str | None, index: int | None, name: str) -> None:
        self.call_id = call_id
        self.wire_id = wire_id
        self.index = index
        self.name = name
        self.args: list[str] = []
        self.last_sign = ""

    def grow(self, args: str) -> None:
        """Take a piece of the arguments."""
        self.args.append(args)
        self.last_sign = args.rstrip()[-1:] or self.last_sign

    def rename(self, name: str) -> None:
        """Take a name that is whole, repeated, growing, or in pieces."""
        if name.startswith(self.name):
            self.name = name
        elif not self.args:
            self.name += name

    def is_whole(self) -> bool:
        """Whether the arguments are complete; cheap while they visibly are not."""
        return self.last_sign == "}" and is_json_object("".join(self.args))


class CallAssembly:
    """Collect the calls of one answer in the order in which they begin."""

    __slots__ = ("_calls",)

    def __init__(self) -> None:
        self._calls: list[_Call] = []

    def __bool__(self) -> bool:
        return bool(self._calls)

    def add(
        self, *, index: int | None, wire_id: str | None, name: str | None, args: str | None
    ) -> ToolCallDelta | None:
        """Add a piece. None: the piece told nothing new."""
        name = name or ""
        args = args or ""
        call = self._find(index=index, wire_id=wire_id or None, name=name, args=args)
        is_new = call is None
        if call is None:
            call = self._begin(index=index, wire_id=wire_id or None, name=name)
        else:
            if name:
                call.rename(name)
            call.wire_id = call.wire_id or wire_id or None
        if args:
            call.grow(args)
        elif not is_new:
            return None
        return ToolCallDelta(call.call_id, call.name, args)

    def calls(self) -> tuple[ToolCallPart, ...]:
        """Return the calls as far as they have come."""
        return tuple(
            ToolCallPart(
                tool_call_id=ToolCallId(call.call_id),
                tool_name=call.name,
                args=_whole_args("".join(call.args)),
            )
            for call in self._calls
        )

    def _find(
        self, *, index: int | None, wire_id: str | None, name: str, args: str
    ) -> _Call | None:
        same_place = self._last(
            call for call in self._calls if index is None or call.index in (index, None)
        )
        if wire_id is not None:
            known = self._last(
                call
                for call in self._calls
                if call.wire_id == wire_id and (index is None or call.index in (index, None))
            )
            if known is not None:
                return known
            # A new id with a name is a new call, even at an index that is taken; a new id
            # without one is a server that makes up an id for every piece.
            if name and not (same_place is not None and same_place.wire_id is None):
                return None
        if same_place is None or not name:
            return same_place
        return None if self._begins_anew(same_place, index, name, args) else same_place

    @staticmethod
    def _begins_anew(call: _Call, index: int | None, name: str, args: str) -> bool:
        """Whether a named piece without an id of its own starts another call."""
        if call.is_whole():
            return args.lstrip().startswith("{") or name != call.name
        return index is None and call.name not in ("", name)

    def _begin(self, *, index: int | None, wire_id: str | None, name: str) -> _Call:
        taken = {call.call_id for call in self._calls}
        stem = wire_id or f"call_{len(self._calls) + 1}"
        call_id, number = stem, 1
        while call_id in taken:
            number += 1
            call_id = f"{stem}_{number}"
        call = _Call(call_id=call_id, wire_id=wire_id, index=index, name=name)
        self._calls.append(call)
        return call

    @staticmethod
    def _last(calls: Iterable[_Call]) -> _Call | None:
        found = None
        for call in calls:
            found = call
        return found


def is_json_object(text: str) -> bool:
    """Return whether arguments are what a tool can take: one JSON object."""
    try:
        msgspec.json.decode(text, type=dict)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return False
    return True


def _whole_args(text: str) -> str:
    """Return the arguments as text; `{}` where a server sends nothing or `null` for none."""
    stripped = text.strip()
    if stripped in ("", "null"):
        return "{}"
    if stripped.startswith("{}") and is_json_object(stripped[2:]):
        # Some servers announce a call with `{}` and then send the real arguments.
        return stripped[2:]
    return text
