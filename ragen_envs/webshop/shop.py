"""A shop: a catalogue and its search. One of each is made a process, and all episodes share it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from ragen_envs.webshop.generator import procedural
from ragen_envs.webshop.goals import Errands
from ragen_envs.webshop.pages import Search
from ragen_envs.webshop.products import Catalogue


class Shop:
    """A catalogue, its search and what it is asked for, which nothing changes.

    A copy of a shop is the shop; a pickle names how it was made, and is opened in any process.

    Args:
        catalogue: the products.
        search: finds their positions by words.
        made: the function and the arguments that return this shop.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        search: Search,
        made: tuple[Callable[..., Shop], tuple[Any, ...]],
    ) -> None:
        self.catalogue = catalogue
        self.search = search
        self.errands = Errands(catalogue)
        self._made = made

    def __deepcopy__(self, memo: dict[int, Any]) -> Shop:
        return self

    def __copy__(self) -> Shop:
        return self

    def __reduce__(self) -> tuple[Callable[..., Shop], tuple[Any, ...]]:
        return self._made


@cache
def procedural_shop(seed: int, size: int) -> Shop:
    """Return the shop of a generated catalogue, opened once a process.

    Args:
        seed: which catalogue.
        size: the number of its products.
    """
    from ragen_envs.webshop.search import Index  # needs the extra "webshop"

    catalogue = procedural(seed, size)
    return Shop(catalogue, Index(catalogue).search, (procedural_shop, (seed, size)))
