"""What can go wrong while following a chat.

StreamError
+-- ChatMissing    there is no such chat
"""

from engine.chat.ids import ChatId


class StreamError(Exception):
    """Following a chat failed."""


class ChatMissing(StreamError):
    """There is no such chat."""

    def __init__(self, chat_id: ChatId) -> None:
        super().__init__(f"there is no chat {chat_id}")
        self.chat_id = chat_id
