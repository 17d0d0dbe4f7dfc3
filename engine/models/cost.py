"""What a model call costs, in millionths of the currency of the prices.

Pure. Unpriced is not free: without a price that applies the cost is None, never 0.
"""

from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal

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
    scaling. Output tokens already contain reasoning.
    """
    if usage is None or prices is None:
        return None
    pairs = (
        (usage.input_tokens, prices.input),
        (usage.output_tokens, prices.output),
        (usage.cache_read_tokens, prices.cache_read),
        (usage.cache_write_tokens, prices.cache_write),
    )
    amounts = [
        tokens * price for tokens, price in pairs if tokens is not None and price is not None
    ]
    if not amounts:
        return None
    return int(sum(amounts, Decimal(0)).to_integral_value(rounding=ROUND_CEILING))
