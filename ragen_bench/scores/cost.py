"""From token counts to money, by a file of prices that the user writes."""

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
"""Names a file of prices, where a command names none."""
_TOKENS = 1_000_000
"""Tokens that a price is for."""
_DEAREST = 1_000_000_000
"""Beyond every price, and small enough for sums to stay finite."""


@dataclass(frozen=True)
class Price:
    """What some models cost.

    Attributes:
        models: patterns of their names, as `fnmatch` reads them, upper and lower case distinct.
        prompt: for a million prompt tokens.
        completion: for a million completion tokens.
    """

    models: tuple[str, ...]
    prompt: float
    completion: float

    def fits(self, model: str) -> bool:
        """Return whether a model's name has one of the patterns."""
        return any(fnmatchcase(model, pattern) for pattern in self.models)


@dataclass(frozen=True)
class Prices:
    """The content of a file of prices; the first price that fits a model counts."""

    currency: str
    prices: tuple[Price, ...]


@dataclass(frozen=True)
class Cost:
    """An amount of money.

    Attributes:
        amount: in the currency's unit, not rounded.
        currency: as the file of prices names it.
    """

    amount: float
    currency: str


def cost(model: str, prompt_tokens: int, completion_tokens: int, prices: Prices) -> Cost | None:
    """Return what tokens cost; None for a model of unknown price.

    It is a list price: discounts for cached prompts or batches are not known here, nor are the
    tokens of requests that failed.

    Args:
        model: its name, as in run.json.
        prompt_tokens: read in all requests.
        completion_tokens: generated in all requests.
        prices: what counts.
    """
    for price in prices.prices:
        if price.fits(model):
            total = prompt_tokens * price.prompt + completion_tokens * price.completion
            return Cost(total / _TOKENS, prices.currency)
    return None


def load_prices(path: Path | None = None) -> Prices:
    """Return the prices of a file.

    Args:
        path: the file; without it that which RAGEN_PRICES names, else the shipped one.

    Raises:
        UserError: if it cannot be read or is not a file of prices, with the key that is wrong.
    """
    file = _file(path)
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"the prices {file} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:  # Broken TOML, or bytes that are not UTF-8.
        raise UserError(f"the prices {file} are not TOML: {error}") from None
    return _prices(content, f"the prices {file}: ")


def _file(path: Path | None) -> Traversable:
    if path is not None:
        return path
    named = os.environ.get(PRICES_VARIABLE)
    if named == "":
        raise UserError(f"{PRICES_VARIABLE} is empty; name a file, or unset it")
    return files("ragen_bench.scores") / "prices.toml" if named is None else Path(named)


def _prices(content: Mapping[str, Any], where: str) -> Prices:
    _check_keys(content, where, ("currency", "price"))
    currency, entries = content["currency"], content["price"]
    if not isinstance(currency, str) or not currency.strip():
        raise UserError(f"{where}currency is a text such as 'USD', not {currency!r}")
    if not isinstance(entries, list):
        raise UserError(f"{where}price is a list of tables: write [[price]], not [price]")
    numbered = enumerate(entries, start=1)
    return Prices(currency, tuple(_price(entry, f"{where}price {i}: ") for i, entry in numbered))


def _price(entry: Any, where: str) -> Price:
    if not isinstance(entry, dict):
        raise UserError(f"{where}it is a table, not {entry!r}")
    _check_keys(entry, where, ("models", "prompt", "completion"))
    models = entry["models"]
    if not isinstance(models, list) or not models or not all(map(_is_pattern, models)):
        raise UserError(f"{where}models is a list of names or patterns, not {models!r}")
    prompt, completion = (_amount(entry, name, where) for name in ("prompt", "completion"))
    return Price(tuple(models), prompt, completion)


def _check_keys(table: Mapping[str, Any], where: str, wanted: tuple[str, ...]) -> None:
    missing = [name for name in wanted if name not in table]
    unknown = [name for name in table if name not in wanted]
    if missing or unknown:
        problem = f"{missing[0]} is missing" if missing else f"{unknown[0]!r} is unknown"
        raise UserError(f"{where}{problem}; the keys are {', '.join(wanted)}")


def _is_pattern(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _amount(entry: Mapping[str, Any], name: str, where: str) -> float:
    value = entry[name]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UserError(f"{where}{name} is a number, not {value!r}")
    if not 0 <= value <= _DEAREST:  # NaN is not between them either.
        raise UserError(f"{where}{name} is between 0 and {_DEAREST:,}, not {value}")
    return float(value)
