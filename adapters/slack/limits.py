"""Owns what Slack allows, as data. Every number names where it comes from. Pure.

Sources: [ref] Slack's API reference; [sdk] the checks in slack_sdk's and slackblocks' models;
[seen] behaviour reported by operators and not documented.
"""

from collections.abc import Mapping
from typing import Final

from adapters.contract import CallRate
from adapters.delivery.call_gates import APPEND, CLOSE, DELETE, EDIT, FIND, POST, START
from adapters.delivery.page_pieces import PageLimit

# Texts, in characters after escaping.
POST_TEXT_MAX: Final = 40_000  # [ref] chat.postMessage cuts longer text and warns message_truncated
UPDATE_TEXT_MAX: Final = 4_000  # [ref] chat.update answers msg_too_long above it
MARKDOWN_TEXT_MAX: Final = 12_000  # [ref] markdown_text, and all markdown blocks of a payload
BLOCKS_TEXT_MAX: Final = 13_000  # [seen] about 13.2k in all blocks answers msg_blocks_too_long
PAGE_TEXT_MAX: Final = 3_900
"""A page must stay editable, so it keeps below UPDATE_TEXT_MAX with room for a status line."""
PAGE_LIMIT: Final = PageLimit(chars_max=PAGE_TEXT_MAX)

# Blocks.
MESSAGE_BLOCKS_MAX: Final = 50  # [ref]
VIEW_BLOCKS_MAX: Final = 100  # [ref] modals and app homes
SECTION_TEXT_MAX: Final = 3_000  # [ref]
SECTION_FIELDS_MAX: Final = 10  # [ref]
SECTION_FIELD_TEXT_MAX: Final = 2_000  # [ref]
HEADER_TEXT_MAX: Final = 150  # [ref]
CONTEXT_ELEMENTS_MAX: Final = 10  # [ref]
ACTIONS_ELEMENTS_MAX: Final = 25  # [ref]
CONTEXT_ACTIONS_ELEMENTS_MAX: Final = 5  # [ref]
IDENTIFIER_MAX: Final = 255  # [sdk] block_id, action_id, callback_id, external_id
IMAGE_URL_MAX: Final = 3_000  # [sdk]
IMAGE_ALT_MAX: Final = 2_000  # [sdk]
TABLE_ROWS_MAX: Final = 100  # [ref]
TABLE_COLUMNS_MAX: Final = 20  # [ref]
TABLE_CELLS_TEXT_MAX: Final = 10_000  # [seen] all cells of a message's table together

# Elements.
BUTTON_TEXT_MAX: Final = 75  # [ref]
BUTTON_VALUE_MAX: Final = 2_000  # [ref]
BUTTON_URL_MAX: Final = 3_000  # [ref]
ACCESSIBILITY_LABEL_MAX: Final = 75  # [ref]
CONFIRM_TITLE_MAX: Final = 100  # [ref]
CONFIRM_TEXT_MAX: Final = 300  # [ref]
CONFIRM_BUTTON_MAX: Final = 30  # [ref]
OPTIONS_MAX: Final = 100  # [ref] a select's options, and its option groups
OPTION_TEXT_MAX: Final = 75  # [ref]
OPTION_VALUE_MAX: Final = 150  # [ref] 75 in older references
OPTION_DESCRIPTION_MAX: Final = 75  # [ref]
OVERFLOW_OPTIONS_MAX: Final = 5  # [ref]
CHECKBOX_OPTIONS_MAX: Final = 10  # [ref] radio buttons too
INPUT_LABEL_MAX: Final = 2_000  # [ref]
INPUT_HINT_MAX: Final = 2_000  # [ref]
INPUT_TEXT_MAX: Final = 3_000  # [ref] plain_text_input max_length
PLACEHOLDER_MAX: Final = 150  # [ref]

# Modals.
MODAL_TITLE_MAX: Final = 24  # [ref] submit and close too
MODAL_METADATA_MAX: Final = 3_000  # [ref]
MODAL_BYTES_MAX: Final = 250_000  # [seen] view_too_large
MODAL_STACK_MAX: Final = 3  # [ref]
TRIGGER_SECONDS_MAX: Final = 3.0  # [ref] a trigger_id opens one view, once

# Links in text: Slack drops what is longer. [sdk] the url limit of buttons
LINK_URL_MAX: Final = 3_000

# Time.
EDIT_INTERVAL_MS_MIN: Final = 3_000  # [ref] chat.update while streaming: at least 3 s apart
ACK_SECONDS_MAX: Final = 3.0  # [ref] events, interactions and view submissions
RESPONSE_URL_POSTS_MAX: Final = 5  # [ref]
RESPONSE_URL_MINUTES_MAX: Final = 30  # [ref]
SESSION_TITLE_MAX: Final = 200  # [ref] agents.sessions.setStatus and rename
STATUS_SECONDS_MAX: Final = 120.0  # [ref] assistant.threads.setStatus times out
LOADING_MESSAGES_MAX: Final = 10  # [ref]
LOADING_MESSAGE_TEXT_MAX: Final = 50  # [ref]
STREAM_SECONDS_MAX: Final = 300.0  # [seen] Slack ends a native stream after about five minutes
STREAM_SECONDS_USED: Final = 240.0
"""A stream is ended by us before Slack does it in the middle of something."""
STREAM_BYTES_USED: Final = 9_000  # [seen] 10.6k of UTF-8, cards included, answer msg_too_long
TASK_TITLE_MAX: Final = 256  # [ref] and every other field of a task_update
SUGGESTED_PROMPTS_MAX: Final = 4  # [ref]

# Calls. Slack counts per method, workspace and app, [ref] docs.slack.dev/apis/web-api/rate-limits.
_TIER_2: Final = CallRate(per_minute=20)
_TIER_3: Final = CallRate(per_minute=50)
_TIER_4: Final = CallRate(per_minute=100)
TELL: Final = "tell"  # chat.postEphemeral
REACT: Final = "react"  # reactions.add
UNREACT: Final = "unreact"  # reactions.remove
LOOK: Final = "look"  # reactions.get
PUBLISH: Final = "publish"  # views.publish
READ: Final = "read"  # conversations.history
OPEN: Final = "open"  # conversations.open
LINK: Final = "link"  # chat.getPermalink, whose limit is not published
SESSION: Final = "session"  # agents.sessions.setStatus
STATUS: Final = "status"  # assistant.threads.setStatus, whose limit is not published
TITLE: Final = "title"  # assistant.threads.setTitle
RATES: Final[Mapping[str, CallRate]] = {
    # Once a second in a channel, and "several hundred a minute" in a workspace.
    POST: CallRate(per_minute=300, per_channel_per_second=1),
    EDIT: _TIER_3,  # chat.update
    DELETE: _TIER_3,  # chat.delete
    FIND: _TIER_3,  # conversations.replies
    READ: _TIER_3,
    OPEN: _TIER_3,
    REACT: _TIER_3,
    UNREACT: _TIER_2,
    LOOK: _TIER_3,
    PUBLISH: _TIER_4,
    TELL: _TIER_4,
    SESSION: _TIER_3,
    TITLE: _TIER_4,
    START: _TIER_2,  # chat.startStream
    APPEND: _TIER_4,  # chat.appendStream
    CLOSE: _TIER_2,  # chat.stopStream
}
