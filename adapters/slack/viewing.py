"""Does what the agent view asks for: suggests first messages, keeps what is looked at, takes over titles."""

import logging

from adapters.errors import SurfaceError
from adapters.slack.agent_events import ViewEvent, prompts_of, session_title
from adapters.slack.desk import Desk
from adapters.slack.identity import PLATFORM

logger = logging.getLogger(__name__)

PROMPTS_TITLE = "How can I help?"


class Viewing:
    """Events of the agent view in one workspace. Doing one again changes nothing."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def handle(self, seen: ViewEvent) -> None:
        """Do what the event asks for."""
        if seen.title:
            await self._rename(seen)
        if seen.looks_at:
            await self._desk.engine.looks.put(
                PLATFORM, self._desk.identity.installation, seen.channel, seen.looks_at
            )
        if seen.is_opened:
            await self._suggest(seen)

    async def _rename(self, seen: ViewEvent) -> None:
        binding = await self._desk.binding(seen.channel, seen.thread)
        if binding is None:
            return
        chat = await self._desk.engine.read_chat(binding.chat_id)
        # Slack tells of the titles that we set as well, as far as they fit.
        if chat is None or session_title(chat.title) == seen.title:
            return
        await self._desk.engine.details.set_title(binding.chat_id, seen.title, by_human=True)

    async def _suggest(self, seen: ViewEvent) -> None:
        prompts = prompts_of(self._desk.house.defaults.suggested_prompts)
        if not prompts:
            return
        try:
            await self._desk.client.suggest_prompts(
                seen.channel, seen.thread or None, title=PROMPTS_TITLE, prompts=prompts
            )
        except SurfaceError as error:
            extra = {"action": "slack_prompts_not_shown", "code": error.code}
            logger.info("no prompts", extra=extra)
