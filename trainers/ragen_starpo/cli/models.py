"""Models that training begins with: found, downloaded or made (`small-model`, `warm-start`)."""

from __future__ import annotations

from dataclasses import dataclass, fields
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from ragen_bench.command_line import Argument, Command, Option
from ragen_bench.errors import UserError, described
from ragen_starpo.warm_start_settings import WarmStartSettings

if TYPE_CHECKING:
    from ragen_starpo.warm_start import Epoch

_BUNDLED = "smollm2-135m"
_HUB_FILES = ["*.json", "*.safetensors", "*.jinja", "*.txt", "*.model"]
"""Files that are downloaded from the hub, with the weights in one format only."""


def model_folder(name: str) -> Path:
    """Return the folder of a model: `smollm2-135m`, a path or a hub id; UserError if missing."""
    if name == _BUNDLED:
        from ragen_bench.models.bundled import converted_folder

        return converted_folder()
    name = check_model(name)
    if Path(name).is_dir():
        return Path(name)
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name, allow_patterns=_HUB_FILES))
    except (OSError, ValueError) as error:
        raise UserError(
            f"there is no folder {name}, and it cannot be downloaded from the hub: "
            f"{described(error)}"
        ) from error


def check_model(name: str, *packages: str) -> str:
    """Return a model's name with the home folder in place of `~`; UserError if it is missing.

    A command calls it before it imports what takes seconds, and names further packages that it
    needs: a missing one is a ModuleNotFoundError, before anything is said of the model.
    """
    for package in ("rich", "torch", "transformers", *packages):
        if find_spec(package) is None:
            raise ModuleNotFoundError(f"No module named {package!r}", name=package)
    from ragen_bench.models.hub import expand_home, find_model

    name = expand_home(name)
    if name == _BUNDLED or Path(name).is_dir():
        return name
    if (meant := name.removeprefix("hf/")) != name:
        raise UserError(f"there is no folder {name!r}; did you mean {meant}?")
    if name.count("/") != 1:
        raise UserError(f"there is no folder {name!r}; give the folder of a model, or {_BUNDLED}")
    return find_model(name)


@dataclass(frozen=True, kw_only=True)
class SmallModel(Command):
    """Makes a small untrained model for two cores.

    Writes a Qwen2 model, of about 0.4 million parameters by default. Its tokenizer reads the boards
    of Sokoban and FrozenLake, or the arms of a Bandit.
    """

    extra: ClassVar[str] = "train"

    out: Annotated[Path, Argument("DIR", "the model")]
    seed: Annotated[int, Option("N", "seed of the weights")] = 0
    thinks: Annotated[bool, Option(None, "add tokens for the thoughts of a warm start")] = False
    bandit: Annotated[bool, Option(None, "read the two arms of a Bandit instead of boards")] = False
    width: Annotated[int, Option("N", "channels, a multiple of 8")] = 96
    layers: Annotated[int, Option("N", "number of transformer layers")] = 3

    def run(self) -> int:
        """Write the model and print its size."""
        from ragen_bench.models.hf.quick_import import import_transformers, pause_garbage_collection
        from ragen_bench.terminal.console import plain_console

        with pause_garbage_collection():
            import_transformers()
            from ragen_starpo.engine.quiet import libraries_quiet
            from ragen_starpo.made_folder import MadeFolder
            from ragen_starpo.small_model import Shape, make_small_model

        shape = Shape.of(self.width, self.layers)
        # Default values are not recorded, so that the shipped agent is reproduced to the byte.
        kind = {name: True for name in ("thinks", "bandit") if getattr(self, name)}
        size = {} if shape == Shape() else {"width": self.width, "layers": self.layers}
        made_by = {"command": "small-model", "seed": self.seed, **kind, **size}
        folder = MadeFolder(self.out, made_by)
        with libraries_quiet(), folder.write() as draft:
            parameters = make_small_model(draft, shape, self.seed, self.thinks, self.bandit)
        plain_console().print(f"Model  {self.out}, {parameters:,} parameters", soft_wrap=True)
        return 0


@dataclass(frozen=True, kw_only=True)
class WarmStart(Command):
    """Trains a model on episodes of the oracle or the random player, before StarPO."""

    extra: ClassVar[str] = "train"

    model: Annotated[str, Argument("MODEL", "folder of a model, or smollm2-135m")]
    out: Annotated[Path, Option("DIR", "the trained model")]
    env: Annotated[tuple[str, ...], Option("ID", "environment; may be repeated")]
    format: Annotated[str, Option("NAME", "format of the responses: think, answer or plain")] = (
        WarmStartSettings.response_format
    )
    player: Annotated[str, Option("NAME", "player of the episodes: oracle or random")] = (
        WarmStartSettings.player
    )
    episodes: Annotated[int, Option("N", "episodes on train instances")] = (
        WarmStartSettings.episodes
    )
    epochs: Annotated[int, Option("N", "passes over them")] = WarmStartSettings.epochs
    batch: Annotated[int, Option("N", "episodes of an optimizer step")] = WarmStartSettings.batch
    micro_batch: Annotated[int, Option("N", "episodes computed at a time; affects memory only")] = (
        WarmStartSettings.micro_batch
    )
    learning_rate: Annotated[float, Option("X", "learning rate after the warm-up")] = (
        WarmStartSettings.learning_rate
    )
    max_tokens: Annotated[int, Option("N", "tokens of a response")] = WarmStartSettings.max_tokens
    validate_every: Annotated[
        int,
        Option(
            "N",
            "epochs between validations, which keep the best model; 0 keeps the last model",
        ),
    ] = WarmStartSettings.validate_every
    val_instances: Annotated[int, Option("N", "held-out instances of each environment")] = (
        WarmStartSettings.val_instances
    )
    seed: Annotated[int, Option("N", "instances and their order")] = WarmStartSettings.seed

    def run(self) -> int:
        """Train, and print the loss of each epoch."""
        check_model(self.model)
        from ragen_bench.models.hf.quick_import import import_transformers, pause_garbage_collection
        from ragen_bench.suites import response_format_of
        from ragen_bench.terminal.console import plain_console

        with pause_garbage_collection():
            import_transformers()
            from ragen_starpo.warm_start import warm_start

        names = {field.name for field in fields(WarmStartSettings)} & {*vars(self)}
        given = {name: getattr(self, name) for name in names}
        form = response_format_of(self.format)
        settings = WarmStartSettings(envs=self.env, response_format=form, **given)
        console = plain_console()
        player = "random player" if settings.player == "random" else "oracle"
        model = model_folder(self.model)

        def on_begin() -> None:
            console.print(f"{settings.episodes} episodes of the {player}, {settings.epochs} epochs")

        def on_epoch(epoch: Epoch) -> None:
            success = "" if epoch.success is None else f"  held-out success {epoch.success:.3f}"
            console.print(f"epoch {epoch.number:>3}  loss {epoch.loss:.4f}{success}")

        warm_start(settings, model, self.out, on_epoch, on_begin)
        console.print(f"Model  {self.out}", soft_wrap=True)
        return 0
