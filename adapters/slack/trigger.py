"""The right to open a modal: what a click gives for three seconds, once. Slack says in several ways that it is over."""

from typing import Final

from slack_sdk.errors import SlackApiError

from adapters.errors import Denied

OVER: Final = frozenset({"expired_trigger_id", "exchanged_trigger_id", "invalid_trigger_id"})
_UNFIT: Final = frozenset({"invalid_arguments", "invalid_trigger"})


class TriggerOver(Denied):
    """Nothing was opened, since the click is too long ago or has opened something before."""


def is_trigger_over(error: Denied) -> bool:
    """Whether a refused call says so. `invalid_arguments` says it in a sentence only."""
    if error.code in OVER:
        return True
    return error.code in _UNFIT and any("trigger" in said for said in _sentences(error.__cause__))


def _sentences(cause: BaseException | None) -> list[str]:
    if not isinstance(cause, SlackApiError):
        return []
    data = getattr(cause.response, "data", cause.response)
    metadata = data.get("response_metadata") if isinstance(data, dict) else None
    messages = metadata.get("messages") if isinstance(metadata, dict) else None
    return [str(each) for each in messages] if isinstance(messages, list) else []
