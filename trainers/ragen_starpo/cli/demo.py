"""`demo`: trains small agents for two games from scratch."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from ragen_bench.command_line import Command, Option
from ragen_bench.errors import UserError
from ragen_starpo.cli.training import make_progress_bar

if TYPE_CHECKING:
    from rich.progress import Progress

    from ragen_starpo.commands import Stage
    from ragen_starpo.demo.results import Results
    from ragen_starpo.demo.stages import Game


@dataclass(frozen=True, kw_only=True)
class Demo(Command):
    """Trains small agents for two games from scratch.

    Makes a small model, trains it on the oracle's episodes and then by StarPO-S, and evaluates all
    three models on held-out instances. Sokoban and FrozenLake take one core each. The same command
    resumes.
    """

    extra: ClassVar[str] = "train"
    resumes: ClassVar[bool] = True

    out: Annotated[Path, Option("DIR", "the agents and their runs")]
    seed: Annotated[tuple[int, ...], Option("N", "may be repeated (default: 0)")] = ()
    instances: Annotated[int, Option("N", "instances of each held-out split, at most 256")] = 256

    def run(self) -> int:
        """Train and evaluate both games at a time, one seed after the other."""
        from ragen_bench.runs.atomic import write_text
        from ragen_bench.terminal.console import plain_console
        from ragen_envs.core.instances import HELD_OUT_SIZE
        from ragen_starpo.demo.results import read_results
        from ragen_starpo.demo.stages import GAMES, SPLITS

        if len(set(self.seed)) < len(self.seed):
            raise UserError("a seed is given twice; give each seed once")
        if not 1 <= self.instances <= HELD_OUT_SIZE:
            raise UserError(
                f"--instances must be between 1 and {HELD_OUT_SIZE}, got {self.instances}"
            )
        seeds = self.seed or (0,)
        folder, console = self.out.resolve(), plain_console()
        bar = make_progress_bar(console)
        with bar:
            for seed in seeds:
                _train(folder, seed, self.instances, bar)
        results = [
            read_results(game, [_agent_folder(folder, game, seed) for seed in seeds], split)
            for game in GAMES
            for split in SPLITS
        ]
        write_text(folder / "results.json", json.dumps(results, indent=1) + "\n")
        for of_game in results:
            console.print(_table(of_game))
        console.print(f"Agents  {self.out}/*/seed-*/run/best", soft_wrap=True)
        return 0


def _agent_folder(out: Path, game: Game, seed: int) -> Path:
    return out / game.env / f"seed-{seed}"


def _train(out: Path, seed: int, instances: int, bar: Progress) -> None:
    """Run the stages of both games, each on one core."""
    from ragen_starpo.commands import Commands
    from ragen_starpo.demo.stages import GAMES, make_stages
    from ragen_starpo.recipes.recipe import read_recipe

    commands = Commands()
    with ThreadPoolExecutor(len(GAMES)) as threads:
        try:
            futures = []
            for game in GAMES:
                stages = make_stages(game, seed, instances)
                on_stage = _stage_printer(bar, game, seed, len(stages))
                folder = _agent_folder(out, game, seed)
                recipe = read_recipe(Path(game.recipe), ["model=warm", f"seed={seed}"])
                settings = {"recipe": recipe.as_json()}
                futures.append(threads.submit(commands.run, folder, stages, settings, on_stage))
            for future in futures:
                future.result()
        except BaseException:
            commands.stop()
            raise


def _stage_printer(
    bar: Progress, game: Game, seed: int, count: int
) -> Callable[[Stage, float | None], None]:
    task = bar.add_task(f"{game.env} seed {seed}", total=count, status="")

    def on_stage(stage: Stage, seconds: float | None) -> None:
        if seconds is None:
            bar.update(task, status=stage.name)
            return
        line = f"{seconds:>6.1f} s  {stage.shell_command}"
        bar.console.print(line, soft_wrap=True, highlight=False)
        bar.update(task, advance=1, status="")

    return on_stage


def _table(results: Results) -> object:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from ragen_bench.terminal.console import interval, percent

    gain = results["gain"]
    caption = f"RL ends {percent(gain['mean'])} points above the warm start"
    caption += f" [{interval(list(gain['interval']))} over seeds and instances"
    if gain["seeds_interval"]:
        caption += f"; {interval(list(gain['seeds_interval']))} by t over seeds"
    table = Table(
        title=f"{results['env']}, {results['split']} split, {results['instances']} instances",
        caption=caption + "]",
        caption_justify="left",
        box=SIMPLE_HEAD,
    )
    for name in ("", "success", "95 %", "seeds"):
        table.add_column(name, justify="right" if name else "left", no_wrap=True)

    def add_player(name: str) -> None:
        player = results[name]
        table.add_row(name, percent(player["success"]), interval(player["success_interval"]), "")

    add_player("random")
    for row in results["rows"]:
        rates = " ".join(percent(rate) for rate in row["rates"])
        table.add_row(row["model"], percent(row["mean"]), interval(list(row["interval"])), rates)
    add_player("oracle")
    return table
