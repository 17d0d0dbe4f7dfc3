"""What the tests of streamed replies share: the methods, what models say in them, what went out."""

import re
from collections.abc import Iterator, Sequence

from tests.acceptance.slack_house import answers, texts
from tests.fakes.model_server import Gate, Pause, Say, Step
from tests.fakes.slack_server import FakeSlack
from tests.fakes.slack_state import Channel, Message

START, APPEND, STOP = "chat.startStream", "chat.appendStream", "chat.stopStream"
POST, EDIT = "chat.postMessage", "chat.update"


def squeezed(text: str) -> str:
    """The words of a text, one blank between them."""
    return re.sub(r"\s+", " ", text).strip()


def typed(text: str, *, size: int = 40, seconds: float = 0.02) -> list[Step]:
    """The text as a model writes it: piece by piece."""
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    return [step for piece in pieces for step in (Say(piece), Pause(seconds))]


def half_and_half(gate: str = "half") -> Sequence[Step]:
    """A reply that waits in the middle until the gate is released."""
    return [Say("Half"), Gate(gate), Say(" and half.")]


def sent(slack: FakeSlack) -> Iterator[str]:
    """All text that ever went into streams, call by call."""
    for call in slack.calls():
        if call.method in (START, APPEND, STOP):
            for chunk in call.args.get("chunks") or ():
                yield chunk.get("text", "")


async def until_stopped(slack: FakeSlack, channel: Channel, root: Message, said: str) -> None:
    """Wait until one message shows what was said, and that it was stopped there."""
    await slack.wait_until(
        lambda: (
            [re.findall(r"[a-zA-Z]+", text) for text in texts(slack, channel, root)]
            == [[*said.split(), "Stopped"]]
            and not any(m.is_streaming for m in answers(slack, channel, root))
        )
    )
