"""Computes the cost of tokens from a file of prices."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from ragen_bench.errors import UserError
from ragen_bench.reading import read_toml

PRICES_VARIABLE = "RAGEN_PRICES"
"""Environment variable with the default file of prices."""
_TOKENS = 1_000_000
"""Number of tokens per price."""
_MAX_PRICE = 1_000_000_000
"""Above every real price, and small enough for finite sums."""


@dataclass(frozen=True)
class Price:
    """Prices per million tokens of the models that match case-sensitive `fnmatch` patterns."""

    models: tuple[str, ...]
    prompt: float
    completion: float


@dataclass(frozen=True)
class Prices:
    """The content of a file of prices; the first price that matches a model applies."""

    currency: str
    prices: tuple[Price, ...]


def compute_cost(
    model: str, prompt_tokens: int, completion_tokens: int, prices: Prices
) -> float | None:
    """Return the cost of tokens in the currency's unit; None for a model without a price.

    It is a list price, without discounts for cached prompts or batches, and without the tokens of
    failed requests.
    """
    for price in prices.prices:
        if any(fnmatchcase(model, pattern) for pattern in price.models):
            total = prompt_tokens * price.prompt + completion_tokens * price.completion
            return total / _TOKENS
    return None


def load_prices(path: Path | None = None) -> Prices:
    """Read a file of prices; None for the one in RAGEN_PRICES, else the shipped one."""
    name = os.environ.get(PRICES_VARIABLE)
    if path is None and name == "":
        raise UserError(f"{PRICES_VARIABLE} is empty; name a file, or unset it")
    file = path or (Path(__file__).with_name("prices.toml") if name is None else Path(name))
    try:
        content = read_toml(file)
    except OSError as error:
        raise UserError(f"the prices {file} cannot be read: {error.strerror}") from None
    return _parse_prices(content, f"the prices {file}: ")


def _parse_prices(content: Mapping[str, object], where: str) -> Prices:
    _check_keys(content, where, ("currency", "price"))
    currency, entries = content["currency"], content["price"]
    if not isinstance(currency, str) or not currency.strip():
        raise UserError(f"{where}currency is a text such as 'USD', not {currency!r}")
    if not isinstance(entries, list):
        raise UserError(f"{where}price is a list of tables: write [[price]], not [price]")
    numbered = enumerate(entries, start=1)
    prices = [_parse_price(entry, f"{where}price {number}: ") for number, entry in numbered]
    return Prices(currency, tuple(prices))


def _parse_price(entry: object, where: str) -> Price:
    if not isinstance(entry, dict):
        raise UserError(f"{where}it is a table, not {entry!r}")
    _check_keys(entry, where, ("models", "prompt", "completion"))
    models = entry["models"]
    are_names = isinstance(models, list) and all(name and isinstance(name, str) for name in models)
    if not models or not are_names:
        raise UserError(f"{where}models is a list of names or patterns, not {models!r}")
    prompt, completion = (_parse_amount(entry, name, where) for name in ("prompt", "completion"))
    return Price(tuple(models), prompt, completion)


def _check_keys(table: Mapping[str, object], where: str, keys: tuple[str, ...]) -> None:
    missing = [name for name in keys if name not in table]
    unknown = [name for name in table if name not in keys]
    if missing or unknown:
        problem = f"{missing[0]} is missing" if missing else f"{unknown[0]!r} is unknown"
        raise UserError(f"{where}{problem}; the keys are {', '.join(keys)}")


def _parse_amount(entry: Mapping[str, object], name: str, where: str) -> float:
    value = entry[name]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UserError(f"{where}{name} is a number, not {value!r}")
    if not 0 <= value <= _MAX_PRICE:  # NaN is not between them either.
        raise UserError(f"{where}{name} is between 0 and {_MAX_PRICE:,}, not {value}")
    return float(value)
