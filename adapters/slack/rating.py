"""Keeps what people say of replies, and thanks them alone."""

from adapters.slack.desk import Desk
from adapters.slack.feedback import Rated
from engine.chat.content import Author

THANKS = "Thank you, that helps."
NOT_THERE = "This answer is not there any more."


class RatingDesk:
    """Ratings given in one workspace. The last one of each person and reply counts."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def rate(self, rated: Rated, author: Author) -> None:
        """Store it. A form tells by closing that it was taken, a button by a word of thanks."""
        binding = await self._desk.binding(rated.channel, rated.thread)
        is_kept = binding is not None and await self._desk.engine.feedback.put(
            binding.chat_id,
            rated.turn_id,
            author,
            is_good=rated.is_good,
            comment=rated.comment,
        )
        if not is_kept:
            await self._desk.tell(rated.channel, rated.thread, rated.user_id, NOT_THERE)
        elif rated.is_good:
            await self._desk.tell(rated.channel, rated.thread, rated.user_id, THANKS)
