"""One episode's buffer: exactly once for each reader, at any pace, within a fixed size."""

from hypothesis import given
from hypothesis import strategies as st

from engine.chat.changes import Episode
from engine.chat.content import ToolCallPart, ToolResultPart
from engine.chat.ids import ToolCallId
from engine.stream.episode import RUN_SIZE_MAX, START, EpisodeBuffer
from engine.stream.events import LivePart, PartEvent, ReasoningDelta, TextDelta, ToolCallDelta

EPISODE = Episode(history_version=3, attempt=1)
CALL = ToolCallId("call_1")


def text(*words: str) -> list[TextDelta]:
    return [TextDelta(text=word) for word in words]


def parts_of(events: list[PartEvent]) -> list[LivePart]:
    return [event.part for event in events]


def test_late_reader_gets_adjacent_text_joined() -> None:
    """E53: late joiners see the attempt's parts from its beginning."""
    buffer = EpisodeBuffer(EPISODE)
    buffer.append(text("The ", "harbour ", "is open."))
    reading = buffer.read(START)
    assert parts_of(reading.events) == text("The harbour is open.")
    assert reading.events[0].seq == 3
    assert not reading.lost


def test_reader_in_the_middle_of_a_text_gets_only_the_rest() -> None:
    buffer = EpisodeBuffer(EPISODE)
    buffer.append(text("The "))
    position = buffer.read(START).position
    buffer.append(text("tide ", "turns."))
    reading = buffer.read(position)
    assert parts_of(reading.events) == text("tide turns.")
    assert buffer.read(reading.position).events == []


def test_kinds_are_never_joined_with_each_other() -> None:
    buffer = EpisodeBuffer(EPISODE)
    call = ToolCallPart(tool_call_id=CALL, tool_name="tide_table", args='{"day":1}')
    result = ToolResultPart(tool_call_id=CALL, tool_name="tide_table", result={"high": "04:10"})
    parts: list[LivePart] = [
        ReasoningDelta(text="Look "),
        ReasoningDelta(text="it up."),
        TextDelta(text="One moment."),
        ToolCallDelta(tool_call_id=CALL, tool_name="tide_table"),
        ToolCallDelta(tool_call_id=CALL, tool_name="tide_table", args_delta='{"day"'),
        ToolCallDelta(tool_call_id=CALL, tool_name="tide_table", args_delta=":1}"),
        ToolCallDelta(tool_call_id=ToolCallId("call_2"), tool_name="tide_table"),
        call,
        result,
    ]
    buffer.append(parts)
    assert parts_of(buffer.read(START).events) == [
        ReasoningDelta(text="Look it up."),
        TextDelta(text="One moment."),
        ToolCallDelta(tool_call_id=CALL, tool_name="tide_table", args_delta='{"day":1}'),
        ToolCallDelta(tool_call_id=ToolCallId("call_2"), tool_name="tide_table"),
        call,
        result,
    ]


def test_a_call_without_arguments_yet_is_told_once() -> None:
    buffer = EpisodeBuffer(EPISODE)
    buffer.append([ToolCallDelta(tool_call_id=CALL, tool_name="tide_table")])
    reading = buffer.read(START)
    assert len(reading.events) == 1
    assert buffer.read(reading.position).events == []


def test_above_the_cap_the_oldest_parts_go_and_late_readers_are_told() -> None:
    """E52: an overflow is an explicit reset, never a silent gap."""
    buffer = EpisodeBuffer(EPISODE, size_max=4 * RUN_SIZE_MAX)
    position = START
    seen = ""
    for number in range(2000):
        buffer.append(text(f"{number:09d} " * 10))
        reading = buffer.read(position)
        position = reading.position
        assert not reading.lost
        seen += "".join(part.text for part in parts_of(reading.events))
    assert seen == "".join(f"{number:09d} " * 10 for number in range(2000))
    late = buffer.read(START)
    kept = "".join(part.text for part in parts_of(late.events))
    assert late.lost
    assert seen.endswith(kept)
    assert RUN_SIZE_MAX < len(kept) <= 4 * RUN_SIZE_MAX
    assert buffer.read(late.position).events == []


def test_beginning_that_cannot_be_had_is_told_as_lost() -> None:
    buffer = EpisodeBuffer(EPISODE)
    buffer.lose_until(40)
    buffer.put(41, TextDelta(text="tail"))
    reading = buffer.read(START)
    assert reading.lost
    assert [(event.seq, event.part) for event in reading.events] == [(41, TextDelta(text="tail"))]


LIVE_PARTS = st.one_of(
    st.builds(TextDelta, text=st.text(max_size=5)),
    st.builds(ReasoningDelta, text=st.text(max_size=5)),
    st.builds(
        ToolCallDelta,
        tool_call_id=st.sampled_from(["a", "b"]),
        tool_name=st.just("tide_table"),
        args_delta=st.text(max_size=3),
    ),
    st.builds(
        ToolCallPart,
        tool_call_id=st.sampled_from(["a", "b"]),
        tool_name=st.just("tide_table"),
    ),
)


def _flat(parts: list[LivePart]) -> list[object]:
    """Parts without regard to how deltas were cut."""
    flat: list[object] = []
    for part in parts:
        if isinstance(part, ToolCallPart | ToolResultPart):
            flat.append(part)
        elif isinstance(part, ToolCallDelta):
            flat.extend((part.tool_call_id, letter) for letter in part.args_delta)
        else:
            flat.extend((type(part), letter) for letter in part.text)
    return flat


@given(st.lists(st.tuples(st.lists(LIVE_PARTS, max_size=4), st.booleans()), max_size=20))
def test_any_reader_gets_every_part_once_in_order(
    steps: list[tuple[list[LivePart], bool]],
) -> None:
    buffer = EpisodeBuffer(EPISODE)
    position, told, written = START, list[PartEvent](), list[LivePart]()
    for parts, reads in steps:
        buffer.append(parts)
        written += parts
        if reads:
            reading = buffer.read(position)
            told, position = told + reading.events, reading.position
    told += buffer.read(position).events
    assert _flat(parts_of(told)) == _flat(written)
    assert _flat(parts_of(buffer.read(START).events)) == _flat(written)
    seqs = [event.seq for event in told]
    assert seqs == sorted(seqs)
    assert buffer.last_seq == len(written)
