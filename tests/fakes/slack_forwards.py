"""Owns what a forwarded message looks like: an attachment of the message that forwards it; pure."""

from __future__ import annotations

from typing import Any

from tests.fakes.slack_shapes import file_in_message
from tests.fakes.slack_state import Message, Workspace

Json = dict[str, Any]


def forwarded(workspace: Workspace, message: Message) -> Json:
    """The attachment. Its text is empty where the message was made of blocks alone."""
    account = workspace.accounts.get(message.user or "")
    link = f"https://{workspace.domain}.slack.com/archives/{message.channel_id}/p{message.ts}"
    shown: Json = {
        "id": 1,
        "ts": message.ts,
        "channel_id": message.channel_id,
        "channel_team": workspace.id,
        "is_msg_unfurl": True,
        "is_share": True,
        "message_blocks": [
            {
                "team": workspace.id,
                "channel": message.channel_id,
                "ts": message.ts,
                "message": {"blocks": message.blocks},
            }
        ],
        "fallback": f"[{message.ts}] {account.username if account else 'app'}: {message.text}",
        "text": message.text,
        "author_id": message.user,
        "author_name": account.name if account else "",
        "from_url": link,
        "original_url": link,
        "mrkdwn_in": ["text"],
        "footer": "Slack Conversation",
    }
    if message.files:
        shown["files"] = [file_in_message(file, workspace.domain) for file in message.files]
    return shown
