"""The records of a shop: products, catalogues and goals.

The fields are those of WebShop's public files (Yao et al. 2022, arXiv 2207.01206, section 3), so
that one shop serves both the generated catalogue and theirs.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Product:
    """One product of a catalogue; options, attributes and nouns are in lower case."""

    asin: str  # unique name in upper case
    title: str
    description: str
    bullets: tuple[str, ...]  # lines of the features page; the search indexes the first one too
    price: tuple[float, float]  # lowest and highest price in dollars, equal for a single price
    breadcrumbs: tuple[str, ...]  # categories, from the widest to the narrowest
    query: str  # search by which the catalogue's maker found it
    options: tuple[tuple[str, tuple[str, ...]], ...]  # choices as (name, values)
    attributes: tuple[str, ...]
    nouns: tuple[str, ...]  # nouns of the title, with repetitions


@dataclass(frozen=True, slots=True)
class Goal:
    """A request of a shopper.

    Attributes:
        by_value: True if a person wrote it, naming only the values of options; then the original's
            reward compares values without names.
        lacking: Requested values that the product does not offer, including the empty one. Only the
            original's reward counts them, and possibly none of the product's values matches one.
    """

    product: int  # position of the target product in the catalogue
    instruction: str  # text of the request
    attributes: tuple[str, ...]  # requested attributes, at least one
    options: tuple[tuple[str, str], ...]  # requested choices, as (name, value)
    price_cap: float  # highest price in dollars
    by_value: bool = False
    lacking: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All products of a shop, referred to by position, under a unique name.

    Equally good products of a search are ordered by `asin`, as in the original, or by position.
    """

    products: tuple[Product, ...]
    name: str
    ties_by_asin: bool = False
