"""What a model call costs, in millionths of the currency of the prices.

Pure. Unpriced is not free: without a price that applies the cost is None, never 0.
"""

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from engine.chat.content import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """Prices per million tokens. None: there is no price for this kind of token."""

    input: Decimal | None = None
    output: Decimal | None = None
    cache_read: Decimal | None = None
    cache_write: Decimal | None = None


def cost_micros(usage: Usage | None, prices: Prices | None) -> int | None:
    """Return the cost, rounded up once; None when no price matches any tokens that were counted.

    A price per million in units is a price per token in millionths, so the product needs no
    scaling. Input tokens are without cached ones, output tokens already contain reasoning.
    """
    if usage is None or prices is None:
        return None
    pairs = (
        (usage.input_tokens, prices.input),
        (usage.output_tokens, prices.output),
        (usage.cache_read_tokens, prices.cache_read),
        (usage.cache_write_tokens, prices.cache_write),
    )
    # As fractions, since a product of decimals is itself rounded.
    amounts = [
        tokens * Fraction(price)
        for tokens, price in pairs
        if tokens is not None and price is not None
    ]
    return math.ceil(sum(amounts)) if amounts else None
