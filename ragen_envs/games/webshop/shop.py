"""A shop: a catalogue, its search and its tasks, opened once per process and shared."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import chain
from pathlib import Path

from ragen_envs.core.instances import RandomStream, Split, held_out
from ragen_envs.core.text_env import PRINTABLE
from ragen_envs.games.webshop.generator import procedural
from ragen_envs.games.webshop.goals import ShoppingTask, TaskGenerator
from ragen_envs.games.webshop.pages import Search
from ragen_envs.games.webshop.products import Catalogue, Product
from ragen_envs.games.webshop.search import Index

Source = Callable[[RandomStream], Iterator[ShoppingTask | None]]
"""Function from a stream to tasks."""


class Shop:
    """An immutable catalogue with its search, which finds positions of products, and its tasks.

    A copy of a shop is the shop itself. A pickle holds its recipe, the function and arguments that
    return it, so any process can open it. `symbols` are characters of its texts beyond printable
    ASCII.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        search: Search,
        tasks: Source,
        symbols: frozenset[str],
        recipe: tuple[Callable[..., Shop], tuple[object, ...]],
    ) -> None:
        self.catalogue = catalogue
        self.search = search
        self.tasks = tasks
        self.symbols = symbols
        self._recipe = recipe
        self._held_out: dict[tuple[str, Split], tuple[ShoppingTask, ...]] = {}

    def held_out(self, name: str, split: Split) -> tuple[ShoppingTask, ...]:
        """Return the held-out tasks of a shop without shipped ones, generated at the first call."""
        if (name, split) not in self._held_out:
            self._held_out[name, split] = tuple(held_out(self.tasks, name, split, set()))
        return self._held_out[name, split]

    def __reduce__(self) -> tuple[Callable[..., Shop], tuple[object, ...]]:
        return self._recipe


@cache
def procedural_shop(seed: int, size: int) -> Shop:
    """Return the shop of a generated catalogue."""
    catalogue = procedural(seed, size)
    recipe = procedural_shop, (seed, size)
    return Shop(catalogue, Index(catalogue).search, TaskGenerator(catalogue), frozenset(), recipe)


@cache
def public_shop(where: str, compat: bool = False) -> Shop:
    """Return the shop of public files; compat keeps requests that no options satisfy."""
    from ragen_envs.games.webshop import loader

    public = loader.load(Path(where))
    catalogue = public.catalogue
    texts = chain(
        (text for product in catalogue.products for text in _texts(product)),
        (request.instruction for request in public.requests),
    )
    symbols: set[str] = set()
    for text in texts:
        if not text.isascii() or not text.isprintable():
            symbols.update(text)
    kept = public.requests if compat else loader.with_offered_options(public.requests)
    tasks = partial(loader.tasks, catalogue, kept)
    recipe = public_shop, (where, compat)
    return Shop(catalogue, Index(catalogue).search, tasks, frozenset(symbols - PRINTABLE), recipe)


def _texts(product: Product) -> Iterator[str]:
    yield from (product.title, product.description, *product.bullets, *product.attributes)
    for name, values in product.options:
        yield from (name, *values)
