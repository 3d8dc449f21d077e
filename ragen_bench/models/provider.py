"""`@provider`: the facts about one kind of model, stated once, next to the code that loads it.

Each package in `ragen_bench/models/` registers its providers in its `__init__.py`. Another
distribution names its providers in the entry point group `ragen_bench.models`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Literal

from ragen_envs.core.protocol import ResponseFormat

if TYPE_CHECKING:
    from ragen_bench.models.api.options import ServerOptions
    from ragen_bench.models.base import Model
    from ragen_bench.models.random_player import RandomPlayer

SERVER_OPTIONS = (
    *("base_url", "concurrency", "timeout", "retries", "key_variable"),
    *("header", "extra_body", "reasoning_effort"),
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
    """

    server: ServerOptions | None = None
    random_player: RandomPlayer | None = None
    isolation: Isolation = IN_SUBPROCESS

    def concurrency_or(self, default: int) -> int:
        """Return `--concurrency`, or the provider's default."""
        return self.server.concurrency if self.server else default


Loader = Callable[[str, ModelSettings], "Model"]


@dataclass
class Provider:
    """One kind of model: the form of its names, and what it can do. It decorates its loader.

    The loader takes a model's name without the prefix, and the settings. Its module imports heavy
    packages inside the loader, since every provider is imported to be listed.

    Attributes:
        name: First part of its models' names, such as "hf".
        form: Form of the names, such as "hf/NAME-OR-DIR"; equal to `name` for a single model.
        help: Description in one line.
        extra: Extra of this distribution that installs its packages; "" for none.
        tools: The model can be offered functions (`--format tools`).
        pictures: The model can be shown pictures (`--pictures`).
        constrained: A grammar can constrain responses (`--constrain`).
        top_p: Nucleus sampling is available (`--top-p`).
        seeded: Responses are sampled with the run's seed.
        served: The model is on a server, reached with `SERVER_OPTIONS`.
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
    tools: bool = False
    pictures: bool = False
    constrained: bool = False
    top_p: bool = False
    seeded: bool = True
    served: bool = False
    batched: bool = False
    user_code: bool = False
    options: tuple[str, ...] = ()
    response_format: ResponseFormat | None = None
    load: Loader = field(init=False)

    def __post_init__(self) -> None:
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
        return all(parts) and len(parts) == self.form.count(":")


provider = Provider
"""`@provider("name", form=..., help=...)` on the function that loads a model registers it."""
REGISTERED: dict[str, Provider] = {}
"""The providers whose modules have been imported, by name."""
