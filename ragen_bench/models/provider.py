"""`@provider`: the facts about one kind of model, stated once, next to the code that loads it.

Each package in `ragen_bench/models/` registers its providers in its `__init__.py`. Another
distribution names its providers in the entry point group `ragen_bench.models`. `resolve` goes from
a model's name on the command line to its provider and the model.
"""

from __future__ import annotations

import logging
import pkgutil
import re
import sys
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ragen_bench.errors import UserError, described, missing_extra, unknown
from ragen_bench.models.suggestions import suggest_name
from ragen_envs.core.protocol import ResponseFormat

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from ragen_bench.models.api.options import ServerOptions
    from ragen_bench.models.base import Model
    from ragen_bench.models.random_player import RandomPlayer

ENTRY_POINTS = "ragen_bench.models"
"""The entry point group of other distributions' providers."""
SERVER_OPTIONS = (
    *("base_url", "concurrency", "timeout", "retries", "key_variable"),
    *("header", "extra_body", "reasoning_effort", "stream"),
)
"""Connection options of a model on a server."""


@dataclass(frozen=True)
class Isolation:
    """Where an agent's code runs, and its limits there.

    Attributes:
        level: "none" runs it in this process, as for a function given from Python; "process" in a
            subprocess; "sandbox" in a subprocess under bubblewrap, without network and with no
            files but Python's and the agent's.
        memory: Address space in the sandbox, in GiB.
        seconds: Time limit for importing the agent and for each response; None for no limit.
        reason: Why it is sandboxed, in a few words.
    """

    level: Literal["none", "process", "sandbox"] = "process"
    memory: int = 4
    seconds: float | None = None
    reason: str = ""


IN_SUBPROCESS = Isolation()
"""The default: a subprocess without limits."""


@dataclass(frozen=True)
class ModelSettings:
    """Settings that a provider may use when it loads a model.

    Attributes:
        server: Connection options; None if none was given.
        random_player: Player of `random` in environments that list no actions.
        isolation: Where an agent's code runs.
        thinking_marks: Marks of the model's thoughts, see `--thinking-marks`; "" to find them.
    """

    server: ServerOptions | None = None
    random_player: RandomPlayer | None = None
    isolation: Isolation = IN_SUBPROCESS
    thinking_marks: str = ""

    def concurrency_or(self, default: int) -> int:
        """Return `--concurrency`, or the provider's default."""
        return self.server.concurrency if self.server else default


Loader = Callable[[str, ModelSettings], "Model"]
_is_name = re.compile("[A-Za-z0-9][A-Za-z0-9._-]*").fullmatch


@dataclass
class Provider:
    """One kind of model: the form of its names, and its abilities. It decorates its loader.

    The loader takes a model's name without the prefix, and the settings. Its module imports heavy
    packages inside the loader, since every provider is imported to be listed.

    Attributes:
        name: First part of its models' names, such as "hf".
        form: Form of the names, such as "hf/NAME-OR-DIR"; equal to `name` for a single model.
        help: Description in one line.
        extra: Extra of this distribution that installs its packages; "" for none.
        needs: Packages of the extra that must be there.
        tools: The model can be offered functions (`--format tools`).
        pictures: The model can be shown pictures (`--pictures`).
        constrained: A grammar can constrain responses (`--constrain`).
        top_p: Nucleus sampling is available (`--top-p`).
        seeded: Responses are sampled with the run's seed.
        served: The model is on a server, reached with `SERVER_OPTIONS`.
        marks: The marks of its thoughts can be given (`--thinking-marks`).
        batched: Requests share forward passes, so `--concurrency` can change the rounding.
        user_code: The model is code of the user, which `--isolate` can sandbox.
        options: Connection options that apply; by default what `served` and `batched` imply.
        response_format: The only format that the model was trained on; None for any.
        load: The decorated loader.
    """

    name: str
    _: KW_ONLY
    form: str
    help: str
    extra: str = ""
    needs: tuple[str, ...] = ()
    tools: bool = False
    pictures: bool = False
    constrained: bool = False
    top_p: bool = False
    seeded: bool = True
    served: bool = False
    marks: bool = False
    batched: bool = False
    user_code: bool = False
    options: tuple[str, ...] = ()
    response_format: ResponseFormat | None = None
    load: Loader = field(init=False)

    def __post_init__(self) -> None:
        if not _is_name(self.name):
            raise ValueError(
                f"a provider's name has letters, digits, - . _ of ASCII, got {self.name!r}"
            )
        if not self.options:
            self.options = SERVER_OPTIONS if self.served else ("concurrency",) * self.batched

    def __call__(self, load: Loader) -> Loader:
        """Register the provider with its loader, which is returned unchanged.

        Raises:
            ValueError: The name is taken by a provider of another module.
        """
        taken = REGISTERED.get(self.name)
        if taken and taken.load.__module__ != load.__module__:
            raise ValueError(f"the name {self.name!r} is taken by {taken.load.__module__}")
        self.load = load
        REGISTERED[self.name] = self
        return load

    @property
    def prefix(self) -> str:
        """The name with the separator of its form: "hf/", "python:", "random"."""
        return self.form[: len(self.name) + 1]

    def matches(self, model: str) -> bool:
        """Return whether a model's name has this provider's form."""
        if self.form == self.name:
            return model == self.name
        rest = model.removeprefix(self.prefix)
        if rest == model or not self.prefix.endswith(":"):
            return rest not in ("", model)
        parts = rest.split(":")
        is_path = "/" in parts[0] or (parts[0].endswith(".py") and Path(parts[0]).is_file())
        return all(parts) and len(parts) == self.form.count(":") and not is_path


provider = Provider
"""`@provider("name", form=..., help=...)` on the function that loads a model registers it."""
REGISTERED: dict[str, Provider] = {}
"""The providers whose modules have been imported, by name."""


def resolve(
    name: str,
    server: ServerOptions | None = None,
    random_player: RandomPlayer | None = None,
    isolation: Isolation = IN_SUBPROCESS,
    thinking_marks: str = "",
) -> Model:
    """Load a model by its name in one of the forms of `list_providers`; see `ModelSettings`.

    Raises:
        UserError: The name has no known form, the model cannot be loaded, or its server does not
            serve it.
    """
    provider = find_provider(name)
    _warn_of_hidden(provider.name)
    settings = ModelSettings(server, random_player, isolation, thinking_marks)
    for package in provider.needs:
        if find_spec(package) is None:
            raise missing_extra(ImportError(name=package), provider.extra)
    return provider.load(name.removeprefix(provider.prefix), settings)


def find_provider(model: str) -> Provider:
    """Return the provider of a model's name, without loading the model.

    Raises:
        UserError: The name has no known form, or the provider's distribution is broken.
    """
    name = re.split("[/:]", model, maxsplit=1)[0]
    provider = _built_in().get(name) or REGISTERED.get(name) or _load_third_party(name)
    if provider is None or not provider.matches(model):
        if model == "blind":
            raise UserError(
                "the blind script is not a model; `ragen-bench report RUN` plays it on the "
                "instances of any run, and shows its row"
            )
        forms = list_providers()
        raise unknown("model", model, forms, suggest_name(model, forms))
    return provider


def list_providers() -> dict[str, str]:
    """Return the help of every provider by the form of its names.

    A third-party provider that cannot be imported has the error for its help.
    """
    _built_in()
    broken = {}
    for point in _entry_points():
        _warn_of_hidden(point.name)
        try:
            _load_third_party(point.name)
        except UserError as error:
            broken[point.name] = str(error)
    known = sorted(REGISTERED.values(), key=lambda provider: provider.form)
    return {provider.form: provider.help for provider in known} | broken


def prefixes_where(is_included: Callable[[Provider], bool], word: str) -> str:
    """Return the prefixes of some built-in providers in words: "gguf/, openai/ or vllm/"."""
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


@cache
def _warn_of_hidden(name: str) -> None:
    """Warn of an entry point that a built-in provider of its name hides."""
    if name in _built_in():
        for point in _entry_points():
            if point.name == name:
                logging.getLogger(__name__).warning(
                    f"the model provider {name!r} of {_source(point)} is not used, since a "
                    "built-in provider has the name; rename its entry point"
                )


def _source(point: EntryPoint) -> str:
    return point.dist.name if point.dist else point.value


def _load_third_party(name: str) -> Provider | None:
    """Import the provider that an entry point of this name registers."""
    for point in _entry_points():
        if point.name != name:
            continue
        source = f"the model provider {name!r} of {_source(point)}"
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
