"""Every way in which Slack refuses or fails has a meaning for delivery."""

from typing import Any

import pytest
from slack_sdk.errors import SlackApiError

from adapters.errors import (
    Denied,
    Gone,
    MessageTooLong,
    RateLimited,
    StillStreaming,
    StreamOver,
    SurfaceError,
    Unavailable,
)
from adapters.slack.client import error_of

# The errors that Slack's reference lists for the methods we call.
DOCUMENTED = [
    "access_denied",
    "account_inactive",
    "accesslimited",
    "as_user_not_supported",
    "attachment_payload_limit_exceeded",
    "already_reacted",
    "bad_timestamp",
    "block_mismatch",
    "cannot_reply_to_message",
    "cant_delete_message",
    "cant_update_message",
    "channel_not_found",
    "channel_type_not_supported",
    "compliance_exports_prevent_deletion",
    "deprecated_endpoint",
    "duplicate_channel_not_found",
    "duplicate_message_not_found",
    "edit_window_closed",
    "ekm_access_denied",
    "enterprise_is_restricted",
    "exchanged_trigger_id",
    "expired_trigger_id",
    "external_channel_migrating",
    "fatal_error",
    "internal_error",
    "invalid_arg_name",
    "invalid_arguments",
    "invalid_array_arg",
    "invalid_attachments",
    "invalid_auth",
    "invalid_blocks",
    "invalid_blocks_format",
    "invalid_charset",
    "invalid_cursor",
    "invalid_form_data",
    "invalid_metadata_format",
    "invalid_metadata_schema",
    "invalid_post_type",
    "invalid_trigger_id",
    "is_archived",
    "markdown_text_conflict",
    "message_limit_exceeded",
    "message_not_found",
    "message_not_in_streaming_state",
    "message_not_owned_by_app",
    "messages_tab_disabled",
    "messaging_processing_failed",
    "metadata_must_be_sent_from_app",
    "metadata_too_large",
    "method_deprecated",
    "missing_charset",
    "missing_post_type",
    "missing_scope",
    "msg_blocks_too_long",
    "msg_blocks_too_many",
    "msg_too_long",
    "no_item_specified",
    "no_permission",
    "no_reaction",
    "no_text",
    "not_allowed_token_type",
    "not_authed",
    "not_in_channel",
    "not_reactable",
    "org_login_required",
    "rate_limited",
    "ratelimited",
    "request_timeout",
    "restricted_action",
    "restricted_action_non_threadable_channel",
    "restricted_action_read_only_channel",
    "restricted_action_thread_locked",
    "restricted_action_thread_only_channel",
    "service_unavailable",
    "slack_connect_canvas_sharing_blocked",
    "slack_connect_file_link_sharing_blocked",
    "streaming_state_conflict",
    "team_access_not_granted",
    "team_added_to_org",
    "team_not_found",
    "thread_locked",
    "thread_not_found",
    "token_expired",
    "token_revoked",
    "too_many_attachments",
    "too_many_contact_cards",
    "too_many_emoji",
    "too_many_members",
    "too_many_reactions",
    "two_factor_setup_required",
    "update_failed",
    "user_not_found",
    "user_not_in_channel",
    "user_not_visible",
    "view_too_large",
]


class Answer:
    def __init__(self, data: Any, status: int = 200, headers: dict[str, Any] | None = None) -> None:
        self.data = data
        self.status_code = status
        self.headers = headers or {}


def mapped(error: str, **fields: Any) -> SurfaceError:
    return error_of(SlackApiError("x", Answer({"ok": False, "error": error}, **fields)))  # type: ignore[arg-type]


@pytest.mark.parametrize("code", DOCUMENTED)
def test_every_documented_error_is_mapped_and_named(code: str) -> None:
    assert mapped(code).code == code


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("ratelimited", RateLimited),
        ("rate_limited", RateLimited),
        ("msg_too_long", MessageTooLong),
        ("msg_blocks_too_long", MessageTooLong),
        ("message_not_found", Gone),
        ("streaming_state_conflict", StillStreaming),
        ("message_not_in_streaming_state", StreamOver),
        ("stopped_by_user", StreamOver),
        ("message_not_owned_by_app", Denied),
        ("not_in_channel", Denied),
        ("token_revoked", Denied),
        ("is_archived", Denied),
        ("something_new", Denied),
    ],
)
def test_errors_mean_what_can_be_done_about_them(code: str, kind: type[SurfaceError]) -> None:
    assert type(mapped(code)) is kind


def test_a_stream_that_a_person_has_stopped_is_told_apart() -> None:
    """D6"""
    stopped, over = mapped("stopped_by_user"), mapped("message_not_in_streaming_state")
    assert isinstance(stopped, StreamOver)
    assert isinstance(over, StreamOver)
    assert (stopped.by_person, over.by_person) == (True, False)


@pytest.mark.parametrize("code", ["fatal_error", "internal_error", "request_timeout"])
def test_what_may_have_been_done_all_the_same_is_uncertain(code: str) -> None:
    error = mapped(code)
    assert isinstance(error, Unavailable)
    assert error.outcome_unknown


def test_a_rate_limit_says_how_long_by_header_or_a_default() -> None:
    """D4"""
    by_header = mapped("ratelimited", status=429, headers={"Retry-After": "7"})
    in_lists = mapped("ratelimited", status=429, headers={"retry-after": ["8"]})
    without = mapped("ratelimited")
    assert isinstance(by_header, RateLimited)
    assert isinstance(in_lists, RateLimited)
    assert isinstance(without, RateLimited)
    assert by_header.retry_after_seconds == 7
    assert in_lists.retry_after_seconds == 8
    assert without.retry_after_seconds > 0


@pytest.mark.parametrize("data", ["<html>busy</html>", b"", None, {}])
def test_a_server_error_without_json_is_uncertain(data: Any) -> None:
    error = error_of(SlackApiError("x", Answer(data, status=503)))  # type: ignore[arg-type]
    assert isinstance(error, Unavailable)
    assert error.outcome_unknown
