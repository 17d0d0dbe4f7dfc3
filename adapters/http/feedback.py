"""What people think of replies, for administrators: counted, and the newest words."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from adapters.http.auth import TokenRole
from adapters.http.call import Answer, Call, Endpoint, Parameter
from adapters.http.feedback_schemas import BYS, NEWEST
from adapters.http.fields import Mistakes
from adapters.http.queries import Pairs
from adapters.http.usage_queries import known_pairs, moment_of
from engine.chat.feedback import FeedbackBy, FeedbackCount, Rating

_TEXT: Final = {"type": "string"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackQuery:
    """Which report is asked for."""

    by: FeedbackBy
    since: datetime | None
    until: datetime | None


def feedback_query(pairs: Pairs) -> FeedbackQuery:
    """The report, all mistakes told."""
    mistakes = Mistakes()
    given = known_pairs(pairs, ("by", "since", "until"), mistakes)
    by = given.get("by", FeedbackBy.BOT.value)
    if by not in BYS:
        mistakes.add("by", f"must be one of {', '.join(BYS)}")
    since, until = (moment_of(given.get(name), name, mistakes) for name in ("since", "until"))
    if since and until and since > until:
        mistakes.add("since", "is after until")
    mistakes.raise_if_any()
    return FeedbackQuery(by=FeedbackBy(by), since=since, until=until)


async def report(call: Call) -> Answer:
    """Count what people think of replies, and show the newest of it."""
    query = feedback_query(call.query)
    since, until = query.since, query.until
    counts = await call.engine.feedback.counts(query.by, since=since, until=until)
    newest = await call.engine.feedback.newest(since=since, until=until, limit=NEWEST)
    return Answer(
        body={
            "by": query.by.value,
            "since": since,
            "until": until,
            "rows": [_row(count) for count in counts],
            "newest": [_rating(rating) for rating in newest],
        }
    )


def _row(count: FeedbackCount) -> dict[str, Any]:
    return {"key": count.key, "good": count.good, "bad": count.bad}


def _rating(rating: Rating) -> dict[str, Any]:
    return {
        "chat_id": str(rating.chat_id),
        "message_id": rating.turn_id,
        "identity": rating.identity,
        "name": rating.name,
        "is_good": rating.is_good,
        "comment": rating.comment,
        "bot": rating.bot,
        "model": rating.model,
        "channel": rating.channel,
        "rated_at": rating.rated_at,
    }


FEEDBACK_ENDPOINTS: Final = (
    Endpoint(
        method="GET",
        path="/feedback",
        name="reportFeedback",
        summary="Count what people think of replies, and see the newest of it.",
        run=report,
        gives="Feedback",
        problems=(422,),
        parameters=(
            Parameter(
                name="by",
                meaning="What a row stands for.",
                schema={"enum": list(BYS), "default": FeedbackBy.BOT.value},
            ),
            Parameter(name="since", meaning="A date or time; UTC without a zone.", schema=_TEXT),
            Parameter(name="until", meaning="Before this date or time.", schema=_TEXT),
        ),
        role=TokenRole.ADMIN,
        detail="Each person's last word on each reply counts. `message_id` is the message that the reply answers.",
    ),
)
