"""Edits of what was said: answered anew from there, whoever was answering meanwhile."""

from collections.abc import AsyncIterator

import pytest

from engine.chat.commands import CommitStep, EditMessage, FinishTurn
from engine.chat.content import NewMessage, Role, plain
from engine.chat.decision import Refusal, RefusalReason
from engine.chat.ids import MessageId
from engine.chat.view import ShownStatus
from tests.fakes.model_server import FakeModel, Gate, Hang, Say
from tests.fakes.replica import ADA, ONLY_WAKES, TestReplica, soon


@pytest.fixture
async def model() -> AsyncIterator[FakeModel]:
    async with FakeModel.start() as fake:
        yield fake


def edit(message_id: int, text: str, *, rerun: bool = True) -> EditMessage:
    """Ada's edit."""
    return EditMessage(
        message_id=MessageId(message_id), content=plain(text), author=ADA, rerun=rerun
    )


def says(text: str) -> NewMessage:
    """What Wren says."""
    return NewMessage(role=Role.ASSISTANT, content=plain(text))


async def test_an_edit_forgets_what_followed_and_fences_the_old_worker_off(
    database_url: str,
) -> None:
    """E10: new message id, history = [edited], queue empty, pending; late writes are refused."""
    async with TestReplica.start(database_url, works=False) as replica:
        chat_id = await replica.chat("one")
        first = await replica.hold(chat_id)
        await first.report(FinishTurn(fence=first.fence(), messages=(says("first"),)))
        await replica.send(chat_id, "two")
        holder = await replica.hold(chat_id)
        await replica.send(chat_id, "three")
        (original, *_) = await replica.messages(chat_id)
        before = await replica.stored(chat_id)

        edited = await replica.do(chat_id, edit(original.id, "one, really"))

        assert edited.message_ids[-1] != original.id
        assert await replica.history(chat_id) == [("user", "one, really")]
        assert await replica.queue(chat_id) == []
        assert (await replica.view(chat_id)).status is ShownStatus.PENDING
        for fence in (holder.fence(), holder.fence(before.history_version)):
            late = await holder.report(FinishTurn(fence=fence, messages=(says("late"),)))
            assert isinstance(late, Refusal)
            assert late.reason is RefusalReason.LEASE_LOST
            step = await holder.report(CommitStep(fence=fence, messages=(says("late"),)))
            assert isinstance(step, Refusal)
        assert await replica.history(chat_id) == [("user", "one, really")]


async def test_an_edit_while_running_is_answered_by_itself(
    database_url: str, model: FakeModel
) -> None:
    """E10: the running request is given up at once and the edited text answered, without a poll."""
    model.script([Say("Half an"), Gate("mid"), Hang()])
    model.say("The right answer.")
    async with TestReplica.start(database_url, model.url, worker=ONLY_WAKES) as replica:
        chat_id = await replica.chat("one")
        async with replica.watch(chat_id) as seen:
            await seen.until_text("Half an")
            (message,) = await replica.messages(chat_id)
            await replica.do(chat_id, edit(message.id, "one, really"))
            await soon(model.requests[0].left.wait())
            await seen.until_status(ShownStatus.WAITING)
            assert seen.said == [("user", "one, really"), ("assistant", "The right answer.")]
        assert await replica.history(chat_id) == seen.said
    assert [request.last_text for request in model.requests] == ["Ada: one", "Ada: one, really"]


async def test_an_amended_message_starts_the_step_again(
    database_url: str, model: FakeModel
) -> None:
    """An amendment of what is being answered is answered, not the old text."""
    model.script([Say("Half an"), Gate("mid"), Hang()])
    async with TestReplica.start(database_url, model.url, worker=ONLY_WAKES) as replica:
        chat_id = await replica.chat("one")
        await soon(model.reached("mid"))
        (message,) = await replica.messages(chat_id)
        await replica.do(chat_id, edit(message.id, "one, really", rerun=False))
        await replica.until(chat_id, ShownStatus.WAITING)
        assert await replica.history(chat_id) == [
            ("user", "one, really"), ("assistant", "All right."),
        ]  # fmt: skip


async def test_an_edit_of_an_unknown_message_is_refused(database_url: str) -> None:
    """E16: edit of an unknown message: a typed not-found."""
    async with TestReplica.start(database_url, works=False) as replica:
        chat_id = await replica.chat("one")
        other = await replica.chat("elsewhere")
        (elsewhere,) = await replica.messages(other)
        for message_id in (10**9, elsewhere.id):
            refused = await replica.refused(chat_id, edit(message_id, "two"))
            assert refused is RefusalReason.MESSAGE_NOT_FOUND
        assert await replica.history(other) == [("user", "elsewhere")]


async def test_an_edit_of_an_answer_is_refused(database_url: str, model: FakeModel) -> None:
    """E17: edit of an assistant message: a typed refusal."""
    async with TestReplica.start(database_url, model.url) as replica:
        chat_id = await replica.chat("one")
        await replica.until(chat_id, ShownStatus.WAITING)
        (_, answer) = await replica.messages(chat_id)
        refused = await replica.refused(chat_id, edit(answer.id, "I know better"))
        assert refused is RefusalReason.NOT_A_USER_MESSAGE
        assert (await replica.history(chat_id))[1] == ("assistant", "All right.")
