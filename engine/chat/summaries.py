"""What a summary is to people: a call that nobody made, by which they see that there is one."""

from typing import Final

from engine.chat.content import Message, NewMessage, Role, ToolCallPart, Visibility

SUMMARY_TOOL: Final = "chat_summarized"


def is_summary_note(message: Message | NewMessage) -> bool:
    """Whether an assistant's message says nothing but that the conversation was summarised."""
    return (
        message.role is Role.ASSISTANT
        and message.visibility is Visibility.USER
        and any(
            isinstance(part, ToolCallPart) and part.tool_name == SUMMARY_TOOL
            for part in message.content
        )
    )
