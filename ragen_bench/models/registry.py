"""From a model's name on the command line to its provider and the model."""

from __future__ import annotations

import pkgutil
import re
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from ragen_bench.errors import UserError, described, nearest, unknown
from ragen_bench.models.api.options import ServerOptions
from ragen_bench.models.base import Model
from ragen_bench.models.provider import (
    IN_SUBPROCESS,
    REGISTERED,
    Isolation,
    ModelSettings,
    Provider,
)
from ragen_bench.models.random_player import RandomPlayer

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

ENTRY_POINTS = "ragen_bench.models"
"""The entry point group of other distributions' providers."""


def resolve(
    name: str,
    server: ServerOptions | None = None,
    random_player: RandomPlayer | None = None,
    isolation: Isolation = IN_SUBPROCESS,
) -> Model:
    """Load a model by its name.

    Args:
        name: Model name in one of the forms of `list_providers`.
        server: Connection options of a model on a server; for a batched model, its concurrency.
        random_player: Player of `random` in environments that list no actions.
        isolation: Where an agent's code runs.

    Raises:
        UserError: The name has no known form, the model cannot be loaded, or its server does not
            serve it.
    """
    provider = find_provider(name)
    settings = ModelSettings(server, random_player, isolation)
    return provider.load(name.removeprefix(provider.prefix), settings)


def find_provider(model: str) -> Provider:
    """Return the provider of a model's name, without loading the model.

    Raises:
        UserError: The name has no known form, or the provider's distribution is broken.
    """
    name = re.split("[/:]", model, maxsplit=1)[0]
    provider = _built_in().get(name) or REGISTERED.get(name) or _load_third_party(name)
    if provider is None or not provider.matches(model):
        raise unknown("model", model, list_providers(), _suggest(model))
    return provider


def list_providers() -> dict[str, str]:
    """Return the help of every provider by the form of its names.

    A third-party provider that cannot be imported has the error for its help.
    """
    _built_in()
    broken = {}
    for point in _entry_points():
        try:
            _load_third_party(point.name)
        except UserError as error:
            broken[point.name] = str(error)
    known = sorted(REGISTERED.values(), key=lambda provider: provider.form)
    return {provider.form: provider.help for provider in known} | broken


def prefixes_where(is_included: Callable[[Provider], bool], word: str) -> str:
    """Return the prefixes of some built-in providers in words: "gguf/, openai/ or vllm/".

    Args:
        is_included: Predicate of a provider.
        word: Last conjunction, "and" or "or".
    """
    *others, last = (p.prefix for p in _built_in().values() if is_included(p))
    return f"{', '.join(others)} {word} {last}" if others else last


@cache
def _built_in() -> dict[str, Provider]:
    """Import the packages next to this module, each of which registers its providers."""
    package = sys.modules[__name__.rpartition(".")[0]]
    for module in pkgutil.iter_modules(package.__path__):
        if module.ispkg:
            import_module(f"{package.__name__}.{module.name}")
    ours = f"{package.__name__}."
    return {
        p.name: p
        for p in sorted(REGISTERED.values(), key=lambda p: p.name)
        if p.load.__module__.startswith(ours)
    }


def _entry_points() -> list[EntryPoint]:
    from importlib.metadata import entry_points  # slow to import

    return list(entry_points(group=ENTRY_POINTS))


def _load_third_party(name: str) -> Provider | None:
    """Import the provider that an entry point of this name registers.

    Raises:
        UserError: The import fails, or registers no provider of this name.
    """
    for point in _entry_points():
        if point.name != name:
            continue
        source = f"the model provider {name!r} of {point.dist.name if point.dist else point.value}"
        try:
            point.load()
        except (Exception, SystemExit) as error:  # another distribution's code may raise anything
            reason = described(error)
            raise UserError(
                f"{source} cannot be imported: {reason}; update or uninstall the distribution"
            ) from error
        if name not in REGISTERED:
            raise UserError(f"{source} is broken: {point.value} registers no provider of this name")
    return REGISTERED.get(name)


def _suggest(model: str) -> str | None:
    """Return the known name that is nearest to a mistyped one; None if there is none."""
    provider, mark, rest = (*re.split("([/:])", model, maxsplit=1), "", "")[:3]
    single = [p.name for p in REGISTERED.values() if p.form == p.name]
    if not rest:
        return None if mark else nearest(model, single)
    families = {p.name: p for p in REGISTERED.values() if p.form != p.name}
    near = families.get(nearest(provider, families) or "")
    if near is None or not near.prefix.endswith(":"):
        return near.prefix + rest if near else None
    module, _, attribute = rest.replace(":", ".").replace("/", ".").rpartition(".")
    return f"{near.prefix}{module}:{attribute}" if module and attribute else None
