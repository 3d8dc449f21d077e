"""The agents of the demo: both games are trained at once, and the results printed as tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.progress import Progress
from rich.table import Table

from ragen_bench.console.formats import interval, percent
from ragen_bench.console.plain import plain_console
from ragen_bench.runs.atomic import write_text
from ragen_starpo.commands import Commands, Stage
from ragen_starpo.console.progress import progress_bar
from ragen_starpo.demo.games import GAMES, SPLITS, Game
from ragen_starpo.demo.results import Results, results
from ragen_starpo.demo.stages import stages
from ragen_starpo.recipes.recipe import read_recipe


def train_agents(out: Path, seeds: Sequence[int], instances: int) -> None:
    """Train and evaluate agents of both games, one seed after the other, and print the results.

    Args:
        out: directory of the agents; what is done there already is kept.
        seeds: one agent of each game for each of them.
        instances: of each held-out split, that the agents are evaluated on.

    Raises:
        UserError: if a command fails.
    """
    folder = out.resolve()
    console = plain_console()
    bar = progress_bar(console)
    with bar:
        for seed in seeds:
            _train(folder, seed, instances, bar)
    tables = [
        results(game, [_folder(folder, game, seed) for seed in seeds], split)
        for game in GAMES
        for split in SPLITS
    ]
    write_text(folder / "results.json", json.dumps(tables, indent=1) + "\n")
    for table in tables:
        console.print(_table(table))
    console.print(f"Agents  {out}/*/seed-*/run/best", soft_wrap=True)


def _folder(out: Path, game: Game, seed: int) -> Path:
    return out / game.env / f"seed-{seed}"


def _train(out: Path, seed: int, instances: int, bar: Progress) -> None:
    """Run the stages of both games, each on one core."""
    commands = Commands()
    with ThreadPoolExecutor(len(GAMES)) as threads:
        try:
            futures = []
            for game in GAMES:
                plan = stages(game, seed, instances)
                on_stage = _on_stage(bar, game, seed, len(plan))
                folder = _folder(out, game, seed)
                recipe = read_recipe(Path(game.recipe), ["model=warm", f"seed={seed}"])
                settings = {"recipe": recipe.as_json()}
                futures.append(threads.submit(commands.run, folder, plan, settings, on_stage))
            for future in futures:
                future.result()
        except BaseException:
            commands.stop()
            raise


def _on_stage(
    bar: Progress, game: Game, seed: int, count: int
) -> Callable[[Stage, float | None], None]:
    task = bar.add_task(f"{game.env} seed {seed}", total=count, status="")

    def on_stage(stage: Stage, seconds: float | None) -> None:
        if seconds is None:
            bar.update(task, status=stage.name)
            return
        bar.console.print(f"{seconds:>6.1f} s  {stage.typed}", soft_wrap=True, highlight=False)
        bar.update(task, advance=1, status="")

    return on_stage


def _table(game: Results) -> Table:
    """Return the rates of an environment in per cent."""
    table = Table(
        title=f"{game['env']}, {game['split']} split, {game['instances']} instances",
        caption=_caption(game),
        caption_justify="left",
        box=SIMPLE_HEAD,
    )
    for name in ("", "success", "95 %", "seeds"):
        table.add_column(name, justify="right" if name else "left", no_wrap=True)
    player = game["random"]
    table.add_row("random", percent(player["success"]), interval(player["success_interval"]), "")
    for row in game["rows"]:
        rates = " ".join(percent(rate) for rate in row["rates"])
        table.add_row(row["model"], percent(row["mean"]), interval(list(row["interval"])), rates)
    player = game["oracle"]
    table.add_row("oracle", percent(player["success"]), interval(player["success_interval"]), "")
    return table


def _caption(game: Results) -> str:
    gain = game["gain"]
    caption = f"RL ends {percent(gain['mean'])} points above the warm start"
    caption += f" [{interval(list(gain['interval']))} over seeds and instances"
    if gain["seeds_interval"]:
        caption += f"; {interval(list(gain['seeds_interval']))} by t over seeds"
    return caption + "]"
