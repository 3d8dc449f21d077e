"""Shopping tasks: the goal, the wording of the request, and the split.

The target product alone decides the split, so no product is a target in two splits. Held-out
splits word their requests in ways that training never does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from ragen_envs.core.instances import RandomStream, content_hash, partition_of
from ragen_envs.games.webshop.products import Catalogue, Goal, Product
from ragen_envs.games.webshop.vocabulary import vocabulary

GAME = "webshop"
MOST_ATTRIBUTES = 4
MOST_OPTIONS = 3
_SIXTEENTHS = 3
"""Size of each held-out split in sixteenths; with one, 1,000 products leave only 62 targets."""
_CAP_STEP = 10
_CAP_STEPS = 4
"""A price cap is one of the next `_CAP_STEPS` multiples of `_CAP_STEP` dollars above the price."""


@dataclass(frozen=True)
class ShoppingTask:
    """An instance: a goal in a named catalogue, with the `asin` of its target."""

    goal: Goal
    asin: str
    catalogue: str

    @cached_property
    def digest(self) -> str:
        """The content hash, independent of the wording and the order of the request."""
        goal = self.goal
        asked = sorted(goal.attributes), sorted(goal.options), f"{goal.price_cap:.2f}"
        lacking = (sorted(goal.lacking),) if goal.lacking else ()
        return content_hash(GAME, repr((self.catalogue, self.asin, *asked, *lacking)).encode())

    @property
    def part(self) -> str:
        return part_of(self.catalogue, self.asin)


def part_of(catalogue: str, asin: str) -> str:
    """Return the part of a product's tasks: "train", "val", "test" or "sealed"."""
    return partition_of(content_hash(GAME, f"{catalogue}\0{asin}".encode()), _SIXTEENTHS)


class TaskGenerator:
    """Generates tasks from a catalogue.

    If another product of the same kind has all other attributes of the target, the request asks for
    the attribute in which they differ.
    """

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._distinguishing = distinguishing_attributes(catalogue.products)

    def __call__(self, stream: RandomStream) -> Iterator[ShoppingTask | None]:
        """Yield tasks, pure functions of the stream; None for a product without attributes."""
        name, products = self._catalogue.name, self._catalogue.products
        while True:
            position = stream.below(len(products))
            product = products[position]
            if not product.attributes:
                yield None
                continue
            pool = "train" if part_of(name, product.asin) == "train" else "held_out"
            yield ShoppingTask(self._goal(position, product, pool, stream), product.asin, name)

    def _goal(self, position: int, product: Product, pool: str, stream: RandomStream) -> Goal:
        """Return a goal that the product meets at any price, with 1 to 4 of its attributes."""
        wanted = self._distinguishing[position]
        count = 1 + stream.below(min(MOST_ATTRIBUTES, len(product.attributes)))
        chosen = stream.sample(range(len(product.attributes)), count)
        if wanted and not set(wanted) & set(chosen):
            chosen[stream.below(count)] = wanted[stream.below(len(wanted))]
        attributes = tuple(product.attributes[i] for i in chosen)
        options = tuple(
            (name, values[stream.below(len(values))])
            for name, values in product.options[:MOST_OPTIONS]
            if stream.below(4)
        )
        cap = (int(product.price[1]) // _CAP_STEP + 1 + stream.below(_CAP_STEPS)) * _CAP_STEP
        words = vocabulary().phrasings[pool]
        frame, join, option, price = (
            rows[stream.below(len(rows))]
            for rows in (words.frames, words.joins, words.options, words.prices)
        )
        instruction = frame.format(
            kind=product.query,
            attributes=join.join(attributes),
            options="".join(option.format(name=name, value=value) for name, value in options),
            price=price.format(cap=cap),
        )
        return Goal(position, instruction, attributes, options, float(cap))


def distinguishing_attributes(products: Sequence[Product]) -> list[tuple[int, ...]]:
    """Return the indices of each product's distinguishing attributes.

    Without one of them, the product could be mistaken for another of the same kind that has as
    many attributes and all of its others.
    """
    every = {(product.query, frozenset(product.attributes)) for product in products}
    alike = Counter((kind, some - {attribute}) for kind, some in every for attribute in some)
    return [
        tuple(
            i
            for i, attribute in enumerate(product.attributes)
            if alike[product.query, frozenset(product.attributes) - {attribute}] > 1
        )
        for product in products
    ]


def price_of(product: Product, task: ShoppingTask) -> float:
    """Return the price in dollars, uniform in its range, which task and product alone decide."""
    low, high = (round(100 * price) for price in product.price)
    if low == high:
        return product.price[0]
    stream = RandomStream("webshop price", task.digest, product.asin)
    return (low + stream.below(high - low + 1)) / 100
