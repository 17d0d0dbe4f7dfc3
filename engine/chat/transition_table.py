"""What every command may do to a chat in every state: the specification as data.

Theory of operation. TABLE maps a kind of command and a state to the set of its allowed outcomes. An
outcome is the state that the chat is in afterwards, or the reason of a refusal. A decision with any
other outcome is a mistake, and so is an outcome listed here that nothing can bring about: the tests
walk every cell both ways. A kind is a command's class name; SendMessage is split by what it does to
a busy chat, EditMessage by whether it answers anew, CompactHistory by whether it ends the turn.

The states are those of state.py: the status's letter (W waiting, E error, R running,
I interrupting, A requires action), X if archived, then 1 if messages wait in the queue and 0 if none
do. What decides between several outcomes of a cell (is the lease live, is it the last answer, is
the queue full) is said in README.md and in the decide_* modules.

In the text below a line without indentation names a kind; each line after it reads
"states: outcomes". Lines add up: a cell holds the outcomes of every line that names its state.
`any`, `archived`, `idle` (W and E), `queued` and a bare letter (R: R0 and R1, not archived) name
several states at once. `=` is the state itself.
"""

from collections.abc import Mapping

from engine.chat.decision import RefusalReason
from engine.chat.state import LETTERS, STATES

CELLS = """
SendMessage queue
    any: = unfit_content empty_message
    W0 E0: R0
    W1 E1: R1
    R0: R1
    I0: I1
    A0: A1
    R1 I1 A1: queue_full
    archived: archived
SendMessage interrupt
    any: = unfit_content empty_message
    W0 E0: R0
    W1 E1: R1
    R: I1
    I0: I1
    A0: R0
    A1: R1
    R1 I1: queue_full
    archived: archived
EditMessage rerun
    any: unfit_content empty_message message_not_found not_a_user_message
    idle R I A: R0
    archived: archived
EditMessage amend
    any: unfit_content empty_message message_not_found not_a_user_message
    idle R I A: =
    archived: archived
EditQueuedMessage
    any: unfit_content empty_message queued_not_found
    queued: =
DeleteQueuedMessage
    any: queued_not_found
    queued: =
    W1: W0
    E1: E0
    R1: R0
    I1: I0
    A1: A0
    WX1: WX0
    EX1: EX0
    IX1: IX0
PromoteQueuedMessage
    any: queued_not_found
    W1 E1 A1: R0 R1
    R1 I1: I1
    WX1 EX1 IX1: archived
Interrupt
    idle I archived: not_running
    R0: I0
    R1: I1
    A0: W0
    A1: R0 R1
SubmitToolResults
    idle R I archived: no_action_pending
    A: results_do_not_match may_not_answer
    A0: R0
    A1: R1
AnswerAction
    idle R I archived: no_action_pending
    A: = action_not_pending may_not_answer
    A0: R0
    A1: R1
Archive
    W0 A0: WX0
    W1 A1: WX1
    E0: EX0
    E1: EX1
    R0: IX0 WX0
    R1: IX1 WX1
    I0: IX0
    I1: IX1
    archived: archived
Unarchive
    idle R I A: not_archived
    WX0: W0
    WX1: W1
    EX0: E0
    EX1: E1
    IX0: I0
    IX1: I1
RequestCompaction
    W0 E0: R0
    W1 E1: R1
    R I A: busy
    archived: archived
ClearContext
    W0 E0: W0
    W1 E1: W1
    R I A: busy
    archived: archived
CommitStep
    any: lease_lost
    R: = history_changed
    I IX0 IX1: status_changed
EnterRequiresAction
    any: lease_lost
    R: = history_changed
    R0: A0
    R1: A1
    I IX0 IX1: status_changed
FinishTurn
    any: lease_lost
    R: history_changed
    R0: W0
    R1: R0 R1
    I IX0 IX1: status_changed
CompactHistory and on
    any: lease_lost
    R: = history_changed
    I IX0 IX1: status_changed
CompactHistory and end
    any: lease_lost
    R: history_changed
    R0: W0
    R1: R0 R1
    I IX0 IX1: status_changed
FinishInterruption
    any: lease_lost
    R: status_changed
    I0: W0
    I1: R0 R1
    IX0: WX0
    IX1: WX1
FinishError
    any: lease_lost
    R0 I0: E0
    R1 I1: E1
    IX0: EX0
    IX1: EX1
RecordAttempt
    any: lease_lost
    R: = history_changed
    I IX0 IX1: status_changed
RecordRetry
    any: lease_lost
    R: = history_changed
    I IX0 IX1: status_changed
ReleaseLease
    any: lease_lost
    R I IX0 IX1: =
ExpireActions
    idle R I archived: no_action_pending
    A: not_due
    A0: R0 E0
    A1: R1 E1
"""

_GROUPS: Mapping[str, tuple[str, ...]] = {
    "any": STATES,
    "archived": tuple(state for state in STATES if "X" in state),
    "queued": tuple(state for state in STATES if state.endswith("1")),
    "idle": ("W0", "W1", "E0", "E1"),
    **{letter: (f"{letter}0", f"{letter}1") for letter in LETTERS.values()},
    **{state: (state,) for state in STATES},
}


def parse(text: str) -> dict[str, dict[str, frozenset[str]]]:
    """Read the cells. A state or outcome that does not exist raises; so nothing can be misspelt."""
    table: dict[str, dict[str, frozenset[str]]] = {}
    for line in filter(None, text.splitlines()):
        if not line.startswith(" "):
            row = table[line] = dict.fromkeys(STATES, frozenset[str]())
            continue
        names, _, outcomes = line.partition(":")
        for state in (state for name in names.split() for state in _GROUPS[name]):
            row[state] |= {_outcome(word, state) for word in outcomes.split()}
    return table


def _outcome(word: str, state: str) -> str:
    if word == "=":
        return state
    return word if word in STATES else RefusalReason(word)


TABLE: Mapping[str, Mapping[str, frozenset[str]]] = parse(CELLS)
"""Kind of command, then state, to the outcomes that are allowed there."""
