"""The records of a shop: products, catalogues and goals.

The fields are those of the public files of WebShop (Yao et al. 2022, arXiv 2207.01206, section 3),
so that one shop serves the catalogue that is generated here and theirs.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Product:
    """One product of a catalogue.

    Attributes:
        asin: its name in the catalogue, in upper case; no two products share one.
        title: its headline.
        description: the text of its description page.
        bullets: the lines of its features page; the first one is searched, too.
        price: the lowest and the highest price in dollars, equal where it has one price.
        breadcrumbs: the categories that it stands in, from the widest to the narrowest.
        query: the search that the catalogue's maker found it by.
        options: the choices to be made, as pairs of a name and its values, in lower case.
        attributes: what a goal may ask of it, in lower case.
        nouns: the nouns of its title in lower case, as often as they occur.
    """

    asin: str
    title: str
    description: str
    bullets: tuple[str, ...]
    price: tuple[float, float]
    breadcrumbs: tuple[str, ...]
    query: str
    options: tuple[tuple[str, tuple[str, ...]], ...]
    attributes: tuple[str, ...]
    nouns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Goal:
    """What a shopper is asked to buy.

    Attributes:
        product: the position in the catalogue of the product that it was written for.
        instruction: the request in words.
        attributes: the attributes asked for, at least one.
        options: the choices asked for, as pairs of an option's name and its value.
        price_cap: the price in dollars that may not be exceeded.
        by_value: whether a person wrote it, who named the options' values alone; the original's
            reward then compares values without names.
        lacking: values asked for that the product does not offer, the empty one included. Only the
            original's reward counts them, and no choice of the product's own values is sure to be
            like one.
    """

    product: int
    instruction: str
    attributes: tuple[str, ...]
    options: tuple[tuple[str, str], ...]
    price_cap: float
    by_value: bool = False
    lacking: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All products of a shop.

    Attributes:
        products: all of them; their positions name them elsewhere.
        name: what the catalogue is; two catalogues that differ have different names.
        ties_by_asin: whether equally good products of a search go by their `asin`, as in the
            original; else they go by position.
    """

    products: tuple[Product, ...]
    name: str
    ties_by_asin: bool = False
