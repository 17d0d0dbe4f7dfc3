"""Stopping the agent, from whichever control: a word, a button, a reaction, Slack's own."""

from adapters.slack.desk import Desk
from adapters.slack.translate import Stop
from engine.api import Binding
from engine.chat.commands import Interrupt
from engine.chat.content import Author
from engine.chat.decision import Refusal
from engine.chat.view import ShownStatus

NOTHING_TO_STOP = "There is nothing to stop."


class Stopping:
    """Stops of one workspace."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def stop(self, stop: Stop, author: Author) -> None:
        """Interrupt the chat; whoever asked in vain is told so, where the thread is known."""
        binding = await self._binding_of_stop(stop)
        if binding is None:
            return
        outcome = await self._desk.engine.submit(binding.chat_id, Interrupt(by=author))
        if not isinstance(outcome, Refusal) or stop.thread is None:
            return
        chat = await self._desk.engine.read_chat(binding.chat_id)
        if chat is not None and chat.status is not ShownStatus.INTERRUPTING:
            await self._desk.tell(stop.channel, stop.thread, stop.user_id, NOTHING_TO_STOP)

    async def _binding_of_stop(self, stop: Stop) -> Binding | None:
        if stop.thread is not None:
            return await self._desk.binding(stop.channel, stop.thread)
        return await self._desk.binding_around(stop.channel, stop.message_ts)
