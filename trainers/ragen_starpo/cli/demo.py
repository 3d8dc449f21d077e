"""`demo`: trains an agent for each game from nothing, and prints what training brought."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.progress import Progress
from rich.table import Table

from ragen_bench.console.formats import interval, percent
from ragen_bench.console.plain import plain_console
from ragen_bench.errors import UserError
from ragen_envs.instances import HELD_OUT_SIZE
from ragen_starpo.cli.console import progress
from ragen_starpo.demo.games import GAMES, SPLITS, Game
from ragen_starpo.demo.results import Results, results
from ragen_starpo.demo.stages import Commands, Stage, stages
from ragen_starpo.recipes.recipe import read_recipe


def run_demo(given: argparse.Namespace) -> int:
    """Train and evaluate, both games at once, one seed after the other; the same command resumes.

    Raises:
        UserError: if a command fails.
    """
    if len(set(given.seed)) < len(given.seed):
        raise UserError("a seed is given twice; give each once")
    if not 1 <= given.instances <= HELD_OUT_SIZE:
        raise UserError(f"--instances is between 1 and {HELD_OUT_SIZE}, got {given.instances}")
    console = plain_console()
    out: Path = given.out.resolve()
    bar = progress(console)
    with bar:
        for seed in given.seed or [0]:
            _train(out, seed, given.instances, bar)
    found = [
        results(game, [_folder(out, game, seed) for seed in given.seed or [0]], split)
        for game in GAMES
        for split in SPLITS
    ]
    (out / "results.json").write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    for one in found:
        console.print(_table(one))
    console.print(f"Agents  {given.out}/*/seed-*/run/best", soft_wrap=True)
    return 0


def _folder(out: Path, game: Game, seed: int) -> Path:
    return out / game.env / f"seed-{seed}"


def _train(out: Path, seed: int, instances: int, bar: Progress) -> None:
    """Run the stages of both games, each on one core."""
    commands = Commands()
    with ThreadPoolExecutor(len(GAMES)) as threads:
        try:
            futures = []
            for game in GAMES:
                todo = stages(game, seed, instances)
                told = _told(bar, game, seed, len(todo))
                folder = _folder(out, game, seed)
                recipe = read_recipe(Path(game.recipe), ["model=warm", f"seed={seed}"])
                futures.append(threads.submit(commands.run, folder, todo, recipe, told))
            for future in futures:
                future.result()
        except BaseException:
            commands.stop()
            raise


def _told(
    bar: Progress, game: Game, seed: int, count: int
) -> Callable[[Stage, float | None], None]:
    task = bar.add_task(f"{game.env} seed {seed}", total=count, said="")

    def told(stage: Stage, seconds: float | None) -> None:
        if seconds is None:
            bar.update(task, said=stage.name)
            return
        bar.console.print(f"{seconds:>6.1f} s  {stage.typed}", soft_wrap=True, highlight=False)
        bar.update(task, advance=1, said="")

    return told


def _table(found: Results) -> Table:
    """Return the rates of an environment in per cent."""
    made = Table(
        title=f"{found['env']}, {found['split']} split, {found['instances']} instances",
        caption=_caption(found),
        caption_justify="left",
        box=SIMPLE_HEAD,
    )
    for name in ("", "success", "95 %", "seeds"):
        made.add_column(name, justify="right" if name else "left", no_wrap=True)
    player = found["random"]
    made.add_row("random", percent(player["success"]), interval(player["success_interval"]), "")
    for row in found["rows"]:
        each = " ".join(percent(rate) for rate in row["rates"])
        made.add_row(row["model"], percent(row["mean"]), interval(list(row["interval"])), each)
    player = found["oracle"]
    made.add_row("oracle", percent(player["success"]), interval(player["success_interval"]), "")
    return made


def _caption(found: Results) -> str:
    gain = found["gain"]
    said = f"RL ends {percent(gain['mean'])} points above the warm start"
    said += f" [{interval(list(gain['interval']))} over seeds and instances"
    if gain["seeds_interval"]:
        said += f"; {interval(list(gain['seeds_interval']))} by t over seeds"
    return said + "]"
