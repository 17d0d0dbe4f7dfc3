"""What calls cost: every kind of token by its own price, rounded up once, and unpriced is not free."""

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.chat.content import Usage
from engine.models.cost import Prices, cost_micros

ALL = Prices(
    input=Decimal(3), output=Decimal(15), cache_read=Decimal("0.3"), cache_write=Decimal("3.75")
)
ONE = Decimal(1)


@dataclass(frozen=True, slots=True)
class Case:
    says: str
    usage: Usage | None
    prices: Prices | None
    cost: int | None


CASES = (
    Case("a price per million is a price in millionths", Usage(input_tokens=1000), ALL, 3000),
    Case(
        "every kind has its price",
        Usage(input_tokens=1, output_tokens=1, cache_read_tokens=10, cache_write_tokens=4),
        ALL,
        3 + 15 + 3 + 15,
    ),
    Case(
        "reasoning is in the output already",
        Usage(output_tokens=10, reasoning_tokens=9),
        ALL,
        150,
    ),
    Case("what is cached is not in the input", Usage(cache_read_tokens=1000), ALL, 300),
    Case("the total is no kind", Usage(total_tokens=1000), ALL, None),
    Case("it is rounded up", Usage(cache_read_tokens=1), ALL, 1),
    Case(
        "it is rounded once, not for each kind",
        Usage(input_tokens=1, output_tokens=1),
        Prices(input=Decimal("0.4"), output=Decimal("0.4")),
        1,
    ),
    Case("nothing is rounded to nothing", Usage(input_tokens=0), ALL, 0),
    Case("a price of zero is a price", Usage(input_tokens=9), Prices(input=Decimal(0)), 0),
    Case("what has no price adds nothing", Usage(input_tokens=5), Prices(input=ONE), 5),
    Case(
        "one price that matches is enough",
        Usage(input_tokens=5, output_tokens=7),
        Prices(output=ONE),
        7,
    ),
    Case("no price matches", Usage(input_tokens=5), Prices(output=ONE), None),
    Case("no prices at all", Usage(input_tokens=5), Prices(), None),
    Case("a model without prices", Usage(input_tokens=5), None, None),
    Case("a provider that does not count", None, ALL, None),
    Case("a provider that counts nothing", Usage(), ALL, None),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.says)
def test_cost(case: Case) -> None:
    assert cost_micros(case.usage, case.prices) == case.cost


TOKENS = st.none() | st.integers(0, 10**13)
PRICES = st.none() | st.decimals(0, 10**6, places=12, allow_nan=False, allow_infinity=False)


@given(
    tokens=st.tuples(TOKENS, TOKENS, TOKENS, TOKENS),
    prices=st.tuples(PRICES, PRICES, PRICES, PRICES),
)
def test_cost_is_the_exact_sum_rounded_up(
    tokens: tuple[int | None, ...], prices: tuple[Decimal | None, ...]
) -> None:
    usage = Usage(
        input_tokens=tokens[0],
        output_tokens=tokens[1],
        cache_read_tokens=tokens[2],
        cache_write_tokens=tokens[3],
    )
    priced = Prices(input=prices[0], output=prices[1], cache_read=prices[2], cache_write=prices[3])
    matching = [
        Fraction(price) * count
        for count, price in zip(tokens, prices, strict=True)
        if count is not None and price is not None
    ]
    cost = cost_micros(usage, priced)
    if not matching:
        assert cost is None
        return
    assert cost is not None
    assert 0 <= cost - sum(matching) < 1
