"""A reply of fifty thousand characters, whose replica dies in the middle, is whole in the end."""

from engine.store.pool import Pool
from tests.chaos.serving import PATIENCE_SECONDS, serving
from tests.chaos.slack_threads import answers, assert_nothing_twice, until_quiet
from tests.fakes.model_server import FakeModel, Gate, Say
from tests.fakes.slack_server import FakeSlack

CHARACTERS = 50_000
PIECE = 250
SHOWN_TEXT_MAX = 4_000
"""What Slack lets be edited."""


def long_text() -> str:
    """Numbered paragraphs of several lengths, none like another."""
    paragraphs = []
    while sum(map(len, paragraphs)) < CHARACTERS:
        number = len(paragraphs)
        words = (f"w{number}x{word}" for word in range(20 + number * 37 % 180))
        paragraphs.append(f"Paragraph {number}: " + " ".join(words) + ".")
    return "\n\n".join(paragraphs)


async def test_a_very_long_reply_survives_a_kill_in_its_middle(
    slack: FakeSlack, model: FakeModel, database_url: str, redis_url: str, pool: Pool
) -> None:
    """D3, D5"""
    text = long_text()
    pieces = tuple(text[start : start + PIECE] for start in range(0, len(text), PIECE))
    half = len(pieces) // 2
    before, after = pieces[:half], pieces[half:]
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script(
        [Say("", before), Gate("middle"), Say("", after)],
        [Say("", before), Say("", after)],
    )
    async with serving(slack, model, database_url, redis_url) as house:
        first = await house.start()
        root = await ada.say(harbour, "<@BOT> tell me all")
        await model.reached("middle")
        await slack.wait_until(lambda: len(answers(slack, harbour, root)) >= 5)
        await house.start()
        await first.kill()

        def is_whole() -> bool:
            shown = answers(slack, harbour, root)
            said = " ".join(message.plain for message in shown).split()
            return said == text.split() and not any(message.buttons for message in shown)

        await slack.wait_until(is_whole, timeout=PATIENCE_SECONDS)
        await until_quiet(pool)
        assert is_whole()
    assert_nothing_twice(slack)
    shown = answers(slack, harbour, root)
    assert len(shown) > CHARACTERS / SHOWN_TEXT_MAX
    assert max(len(message.text) for message in shown) <= SHOWN_TEXT_MAX
    assert not slack.calls("chat.delete")
