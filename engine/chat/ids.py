"""Identifiers of the chat domain: distinct types, so that one is never passed for another."""

from typing import NewType
from uuid import UUID

ChatId = NewType("ChatId", UUID)
OrganizationId = NewType("OrganizationId", UUID)
MessageId = NewType("MessageId", int)
QueuedId = NewType("QueuedId", int)
ActionId = NewType("ActionId", int)
FileId = NewType("FileId", UUID)
RunnerId = NewType("RunnerId", UUID)
"""One acquisition of a chat by a worker. New for every acquisition, so it fences late writes."""
ToolCallId = NewType("ToolCallId", str)
"""The provider's id of a call. Unique within one assistant message only, never globally."""

DEFAULT_ORGANIZATION = OrganizationId(UUID("00000000-0000-4000-8000-000000000001"))
"""The organization of an installation that has not been divided into several."""
