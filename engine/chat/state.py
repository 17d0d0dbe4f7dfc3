"""The execution states: status x queue empty or not x archived. A chat is always in exactly one.

Theory of operation. Five statuses are stored. Whether messages wait in the queue changes what
commands do, so each status splits in two (`R0`, `R1`). Archiving never stops work at once, so the
archived flag combines with waiting, error and interrupting only (`WX0`, `IX1`): a running chat that
is archived is interrupted first. Everything that moves a chat from one state to another is a cell of
transition_table.py; nothing else may.
"""

from engine.chat.decision import ChatRow
from engine.chat.snapshot import ChatStatus, Snapshot

LETTERS = {
    ChatStatus.WAITING: "W",
    ChatStatus.ERROR: "E",
    ChatStatus.RUNNING: "R",
    ChatStatus.INTERRUPTING: "I",
    ChatStatus.REQUIRES_ACTION: "A",
}
STATUS_OF_LETTER = {letter: status for status, letter in LETTERS.items()}
STATES = (
    "W0", "W1", "E0", "E1", "R0", "R1", "I0", "I1", "A0", "A1",
    "WX0", "WX1", "EX0", "EX1", "IX0", "IX1",
)  # fmt: skip


def label(status: ChatStatus, *, archived: bool, queued: int) -> str:
    """The state's short name, as the table and the specification use it."""
    return f"{LETTERS[status]}{'X' if archived else ''}{'1' if queued else '0'}"


def state_of(snapshot: Snapshot) -> str:
    """The state that a snapshot is in."""
    return label(snapshot.status, archived=snapshot.archived, queued=len(snapshot.queue))


def state_after(row: ChatRow, queued: int) -> str:
    """The state that a decision leads to, given the queue's length after its writes."""
    return label(row.status, archived=row.archived, queued=queued)
