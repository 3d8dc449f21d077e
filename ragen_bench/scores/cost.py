"""Computes the cost of tokens from a file of prices."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from ragen_bench.errors import UserError

PRICES_VARIABLE = "RAGEN_PRICES"
"""Environment variable with the default file of prices."""
_TOKENS = 1_000_000
"""Number of tokens per price."""
_MAX_PRICE = 1_000_000_000
"""Above every real price, and small enough for finite sums."""


@dataclass(frozen=True)
class Price:
    """The price of some models.

    Attributes:
        models: Case-sensitive `fnmatch` patterns of model names.
        prompt: Price of a million prompt tokens.
        completion: Price of a million completion tokens.
    """

    models: tuple[str, ...]
    prompt: float
    completion: float

    def matches(self, model: str) -> bool:
        """Return whether a model's name matches one of the patterns."""
        return any(fnmatchcase(model, pattern) for pattern in self.models)


@dataclass(frozen=True)
class Prices:
    """The content of a file of prices; the first price that matches a model applies."""

    currency: str
    prices: tuple[Price, ...]


@dataclass(frozen=True)
class Cost:
    """An amount of money.

    Attributes:
        amount: Amount in the currency's unit, not rounded.
        currency: Name of the currency in the file of prices.
    """

    amount: float
    currency: str


def compute_cost(
    model: str, prompt_tokens: int, completion_tokens: int, prices: Prices
) -> Cost | None:
    """Return the cost of tokens; None for a model without a price.

    It is a list price, without discounts for cached prompts or batches, and without the tokens of
    failed requests.

    Args:
        model: Name of the model, as in run.json.
        prompt_tokens: Prompt tokens of all requests.
        completion_tokens: Completion tokens of all requests.
        prices: Prices to apply.
    """
    for price in prices.prices:
        if price.matches(model):
            total = prompt_tokens * price.prompt + completion_tokens * price.completion
            return Cost(total / _TOKENS, prices.currency)
    return None


def load_prices(path: Path | None = None) -> Prices:
    """Read a file of prices.

    Args:
        path: The file; None for the one in RAGEN_PRICES, else the shipped one.

    Raises:
        UserError: if the file cannot be read, or a key is wrong.
    """
    file = _find_file(path)
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"the prices {file} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:  # Broken TOML, or bytes that are not UTF-8.
        raise UserError(f"the prices {file} are not TOML: {error}") from None
    return _parse_prices(content, f"the prices {file}: ")


def _find_file(path: Path | None) -> Traversable:
    if path is not None:
        return path
    name = os.environ.get(PRICES_VARIABLE)
    if name == "":
        raise UserError(f"{PRICES_VARIABLE} is empty; name a file, or unset it")
    return files("ragen_bench.scores") / "prices.toml" if name is None else Path(name)


def _parse_prices(content: Mapping[str, Any], where: str) -> Prices:
    _check_keys(content, where, ("currency", "price"))
    currency, entries = content["currency"], content["price"]
    if not isinstance(currency, str) or not currency.strip():
        raise UserError(f"{where}currency is a text such as 'USD', not {currency!r}")
    if not isinstance(entries, list):
        raise UserError(f"{where}price is a list of tables: write [[price]], not [price]")
    numbered = enumerate(entries, start=1)
    return Prices(
        currency, tuple(_parse_price(entry, f"{where}price {i}: ") for i, entry in numbered)
    )


def _parse_price(entry: Any, where: str) -> Price:
    if not isinstance(entry, dict):
        raise UserError(f"{where}it is a table, not {entry!r}")
    _check_keys(entry, where, ("models", "prompt", "completion"))
    models = entry["models"]
    if not isinstance(models, list) or not models or not all(map(_is_pattern, models)):
        raise UserError(f"{where}models is a list of names or patterns, not {models!r}")
    prompt, completion = (_parse_amount(entry, name, where) for name in ("prompt", "completion"))
    return Price(tuple(models), prompt, completion)


def _check_keys(table: Mapping[str, Any], where: str, keys: tuple[str, ...]) -> None:
    missing = [name for name in keys if name not in table]
    unknown = [name for name in table if name not in keys]
    if missing or unknown:
        problem = f"{missing[0]} is missing" if missing else f"{unknown[0]!r} is unknown"
        raise UserError(f"{where}{problem}; the keys are {', '.join(keys)}")


def _is_pattern(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _parse_amount(entry: Mapping[str, Any], name: str, where: str) -> float:
    value = entry[name]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UserError(f"{where}{name} is a number, not {value!r}")
    if not 0 <= value <= _MAX_PRICE:  # NaN is not between them either.
        raise UserError(f"{where}{name} is between 0 and {_MAX_PRICE:,}, not {value}")
    return float(value)
