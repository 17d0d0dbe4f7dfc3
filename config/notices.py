"""What works, but surely not as meant: variables that have no effect, for people to read (pure)."""

import difflib
from collections.abc import Iterator, Mapping

from config.errors import Problem
from config.resolve import ANTHROPIC_NAMES
from config.schema import ENV_PREFIX, specs_of
from config.settings import ModelProvider, Settings

# Low enough for one wrong letter in the shortest name, high enough for other programs' names.
_ALIKE = 0.9


def notices(
    environ: Mapping[str, str], provider: ModelProvider, *, was_asked_for: bool
) -> Iterator[Problem]:
    """Yield what to tell of an environment whose settings are fine. Never holds a value.

    `was_asked_for`: the provider was named, not found out by the keys that are there.
    """
    given = [name for name in ANTHROPIC_NAMES if environ.get(name)]
    if given and provider is ModelProvider.OPENAI and not was_asked_for:
        yield Problem(
            where=f"environment {given[0]}",
            what="has no effect, because a key or an address for OpenAI is set too",
            mend="set THREADWRIGHT_MODEL_PROVIDER to the one that is meant, openai or anthropic",
        )
    yield from _misspelt(environ)


def _misspelt(environ: Mapping[str, str]) -> Iterator[Problem]:
    known: set[str] = set()
    for spec in specs_of(Settings):
        for name in spec.aliases:
            known.add(name)
            if spec.is_secret:
                known.add(f"{name}_FILE")
    for name in sorted(environ):
        if name in known or name.startswith(ENV_PREFIX) or not environ[name]:
            continue
        if nearest := difflib.get_close_matches(name, sorted(known), n=1, cutoff=_ALIKE):
            yield Problem(
                where=f"environment {name}",
                what="has no effect, because no setting is called that",
                mend=f"did you mean {nearest[0]}?",
            )
