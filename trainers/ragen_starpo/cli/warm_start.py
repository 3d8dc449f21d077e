"""`warm-start`: supervised training on episodes of the oracle or the random player."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from ragen_bench.command_line import Argument, Command, Option
from ragen_starpo.warm_start_settings import WarmStartSettings

if TYPE_CHECKING:
    from ragen_starpo.warm_start import Epoch


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
        from ragen_bench.suites import response_format_of
        from ragen_bench.terminal.console import plain_console
        from ragen_starpo.cli.models import model_folder
        from ragen_starpo.warm_start import warm_start

        settings = WarmStartSettings(
            envs=self.env,
            response_format=response_format_of(self.format),
            episodes=self.episodes,
            epochs=self.epochs,
            batch=self.batch,
            micro_batch=self.micro_batch,
            learning_rate=self.learning_rate,
            max_tokens=self.max_tokens,
            validate_every=self.validate_every,
            val_instances=self.val_instances,
            seed=self.seed,
            player=self.player,
        )
        console = plain_console()
        player = "random player" if settings.player == "random" else "oracle"
        console.print(f"{settings.episodes} episodes of the {player}, {settings.epochs} epochs")
        model = model_folder(self.model)
        warm_start(settings, model, self.out, lambda epoch: console.print(_line(epoch)))
        console.print(f"Model  {self.out}", soft_wrap=True)
        return 0


def _line(epoch: Epoch) -> str:
    line = f"epoch {epoch.number:>3}  loss {epoch.loss:.4f}"
    return line if epoch.success is None else f"{line}  held-out success {epoch.success:.3f}"
