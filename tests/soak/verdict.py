"""Whether a soak went well: every chat is read back, and what must not grow is compared."""

from collections.abc import Sequence

from engine.chat.content import Message, Role, text_of
from engine.chat.ids import ChatId
from tests.soak.house import House
from tests.soak.people import People

MEMORY_GROWTH_MAX = 1.5
"""Of a replica between its second look and its last: it may still be filling caches and pools."""
CONNECTIONS_GROWTH_MAX = 5
_CONNECTIONS = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
_STALE = "SELECT count(*) FROM chats WHERE runner_id IS NOT NULL"


class Growth:
    """Memory by replica and connections to the database, look by look."""

    def __init__(self) -> None:
        self._memory: dict[int, list[float]] = {}
        self._connections: list[int] = []
        self.held_at_the_end = 0

    async def note(self, house: House, people: People, *, is_last: bool = False) -> None:
        """Look once."""
        for pid, kib in house.memory_kib().items():
            self._memory.setdefault(pid, []).append(kib)
        async with people.replica.pool.session() as connection:
            self._connections.append(await connection.fetchval(_CONNECTIONS))
            if is_last:
                self.held_at_the_end = await connection.fetchval(_STALE)

    def problems(self) -> list[str]:
        """What grew."""
        found = [
            f"replica {pid} grew from {looks[1] / 1024:.0f} to {looks[-1] / 1024:.0f} MiB"
            for pid, looks in self._memory.items()
            if len(looks) > 2 and looks[-1] > looks[1] * MEMORY_GROWTH_MAX
        ]
        connections = self._connections
        if connections[-1] > connections[0] + CONNECTIONS_GROWTH_MAX:
            found.append(f"connections to the database grew: {connections}")
        if self.held_at_the_end:
            found.append(f"{self.held_at_the_end} chats are held though nothing runs")
        return found

    def __str__(self) -> str:
        memory = ", ".join(f"{looks[-1] / 1024:.0f}" for looks in self._memory.values())
        return f"MiB by replica: {memory}; connections: {self._connections[-1:]}"


async def verdict(
    people: People, growth: Growth, *, stuck: Sequence[ChatId], expected: str
) -> list[str]:
    """What is wrong; nothing when all is well."""
    problems = [f"chat {chat_id} never came to rest" for chat_id in stuck]
    for chat_id, questions in people.chats.items():
        messages = await people.replica.engine.read_messages(chat_id, limit=1000)
        problem = _wrong(messages, questions, expected)
        if problem:
            problems.append(f"chat {chat_id}: {problem}")
    return [*problems[:20], *growth.problems()]


def _wrong(messages: Sequence[Message], questions: int, expected: str) -> str | None:
    said = [(message.role, text_of(message.content)) for message in messages]
    wanted = [
        line
        for number in range(questions)
        for line in ((Role.USER, f"question {number}"), (Role.ASSISTANT, expected))
    ]
    if said == wanted:
        return None
    roles = "".join(role.value[0] for role, _ in said)
    return f"{questions} questions, but the history is {roles}"
