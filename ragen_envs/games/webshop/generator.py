"""The generator of catalogues, whose products are similar in the requested features.

Products come in clusters of one kind. Each but the first is a twin of another: it differs in one
attribute, in the values of an option, or in price, and possibly in its maker. Most attributes are
on the features page below its first line, which the search does not index. So the first hit of a
search is often a twin of the wanted product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TypeVar

from ragen_envs.core.instances import RandomStream
from ragen_envs.games.webshop.products import Catalogue, Product
from ragen_envs.games.webshop.vocabulary import Family, OptionValues, vocabulary

DEFAULT_SIZE = 1000
MAX_OPTION_VALUES = 15
_FEWEST_TWINS, _TWINS = 2, 6
"""Fewest and most twins of a cluster."""
_PLACES = 6
"""Places of an attribute: one is the title, one the description, the others are bullets."""
_RANGED_PERCENT = 13
"""Percentage of products with a price range, as in the public files."""
_CENTS = (0, 49, 95, 99)
_DIGITS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
"""Characters of a product's name, without those that look alike."""
_NAME_LENGTH = 6
_SCRAMBLE = 48_271
"""Odd, so that multiplication by it modulo a power of two is a bijection."""

Options = tuple[tuple[str, tuple[str, ...]], ...]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Draft:
    """A product before it is put into words; the price in cents."""

    family: Family
    kind: str
    axes: tuple[str, ...]
    attributes: tuple[str, ...]
    options: Options
    price: tuple[int, int]
    brand: str


@cache
def procedural(seed: int = 0, size: int = DEFAULT_SIZE) -> Catalogue:
    """Return the generated catalogue of a seed with 1 to a million products, built once."""
    if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= 1_000_000:
        raise ValueError(f"a catalogue has 1 to 1000000 products, got {size!r}")
    products: list[Product] = []
    cluster = 0
    while len(products) < size:
        stream = RandomStream("webshop cluster", seed, cluster)
        drafts = [_draft(stream)]
        for _ in range(_FEWEST_TWINS + stream.below(_TWINS - _FEWEST_TWINS + 1)):
            drafts.append(_twin(_pick(stream, drafts), stream))
        lines = stream.sample(range(len(vocabulary().names.lines)), len(drafts))
        products += [
            _product(draft, line, stream) for draft, line in zip(drafts, lines, strict=True)
        ]
        cluster += 1
    order = RandomStream("webshop order", seed, size).sample(range(size), size)
    named = tuple(replace(products[i], asin=_asin(at)) for at, i in enumerate(order))
    return Catalogue(named, f"procedural-{seed}-{size}")


def _draft(stream: RandomStream) -> _Draft:
    words = vocabulary()
    family = _pick(stream, words.families)
    chosen = stream.sample(range(len(family.axes)), 3 + stream.below(len(family.axes) - 2))
    axes = tuple(family.axes[i] for i in chosen)
    names = stream.sample(range(len(family.options)), 1 + stream.below(len(family.options)))
    return _Draft(
        family=family,
        kind=_pick(stream, family.kinds),
        axes=axes,
        attributes=tuple(_pick(stream, words.attributes[axis]) for axis in axes),
        options=tuple(
            (family.options[i], _values(stream, words.options[family.options[i]]))
            for i in sorted(names)
        ),
        price=_price(stream, family),
        brand=_pick(stream, words.names.brands),
    )


def _twin(first: _Draft, stream: RandomStream) -> _Draft:
    """Return the draft with one change, and half of the time with another maker."""
    words = vocabulary()
    brand = _pick(stream, words.names.brands) if stream.below(2) else first.brand
    change = stream.below(10)
    if change < 6:
        at = stream.below(len(first.axes))
        others = [a for a in words.attributes[first.axes[at]] if a != first.attributes[at]]
        attributes = (*first.attributes[:at], _pick(stream, others), *first.attributes[at + 1 :])
        options = tuple((name, _values(stream, words.options[name])) for name, _ in first.options)
        options = first.options if stream.below(2) else options
        return replace(first, attributes=attributes, options=options, brand=brand)
    if change < 8:
        at = stream.below(len(first.options))
        name, _ = first.options[at]
        other = name, _values(stream, words.options[name])
        options = (*first.options[:at], other, *first.options[at + 1 :])
        return replace(first, options=options, brand=brand)
    percent = 140 + stream.below(160)
    low, high = (cents * percent // 100 for cents in first.price)
    return replace(first, price=(low, high), brand=brand)


def _values(stream: RandomStream, option: OptionValues) -> tuple[str, ...]:
    """Return 2 to 15 values of an option in its order: a run of neighbours, or any."""
    every = option.values
    count = 2 + stream.below(min(MAX_OPTION_VALUES, len(every)) - 1)
    if option.run:
        start = stream.below(len(every) - count + 1)
        return every[start : start + count]
    return tuple(every[i] for i in sorted(stream.sample(range(len(every)), count)))


def _price(stream: RandomStream, family: Family) -> tuple[int, int]:
    """Return the lowest and the highest price in cents; low prices are more frequent."""
    least, most = family.price
    roll = stream.below(1000)
    low = (least + (most - least) * roll * roll // 1_000_000) * 100 + _pick(stream, _CENTS)
    if stream.below(100) >= _RANGED_PERCENT:
        return low, low
    return low, low * (110 + stream.below(70)) // 100


def _product(draft: _Draft, line: int, stream: RandomStream) -> Product:
    """Return the product of a draft in words, as yet without its name."""
    words, family = vocabulary().names, draft.family
    places = [(stream.below(_PLACES), attribute) for attribute in draft.attributes]
    in_title = [attribute for place, attribute in places if place == 0]
    in_description = [attribute for place, attribute in places if place == 1]
    audience = _pick(stream, family.audience)
    parts = [draft.brand, words.lines[line], _pick(stream, words.styles), draft.kind.title()]
    title = ", ".join([" ".join(parts) + f" for {audience.title()}", *map(str.title, in_title)])
    about = [_pick(stream, words.about).format(kind=draft.kind)]
    if in_description:
        about.append(f"It is listed under: {', '.join(in_description)}.")
    if stream.below(2):
        other = _pick(stream, _pick(stream, vocabulary().families).kinds)
        about.append(_pick(stream, words.company).format(kind=other))
    about.append(_pick(stream, words.closing))
    # The features page has a line without content, then one per attribute.
    rest = [attribute for place, attribute in places if place > 1]
    heads = ["in short", *(rest[i] for i in stream.sample(range(len(rest)), len(rest)))]
    bullets = tuple(f"{head.capitalize()} - {_pick(stream, words.praise)}." for head in heads)
    low, high = draft.price
    return Product(
        asin="",
        title=title,
        description=" ".join(about),
        bullets=bullets,
        price=(low / 100, high / 100),
        breadcrumbs=(*family.crumbs, draft.kind.title()),
        query=draft.kind,
        options=draft.options,
        attributes=draft.attributes,
        nouns=(draft.brand.lower(), words.lines[line].lower(), *draft.kind.split(), audience),
    )


def _pick(stream: RandomStream, values: Sequence[T]) -> T:
    return values[stream.below(len(values))]


def _asin(position: int) -> str:
    """Return the name of a product, which reveals nothing about its neighbours."""
    number = (position + 1) * _SCRAMBLE * _SCRAMBLE % len(_DIGITS) ** _NAME_LENGTH
    letters = []
    for _ in range(_NAME_LENGTH):
        number, digit = divmod(number, len(_DIGITS))
        letters.append(_DIGITS[digit])
    return "P" + "".join(reversed(letters))
