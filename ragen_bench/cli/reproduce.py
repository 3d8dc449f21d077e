"""`reproduce`: reruns an entry at another seed, and compares the intervals."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ragen_bench.cli.evaluate import Evaluate
from ragen_bench.cli.shared_options import DrawsOptions, PriceOptions
from ragen_bench.cli.verify import verify_entry
from ragen_bench.command_line import Argument, Command, Option
from ragen_bench.errors import UserError
from ragen_bench.settings.options import ConnectionOptions, IsolationOptions

if TYPE_CHECKING:
    from rich.console import Console

    from ragen_bench.json_types import JsonObject
    from ragen_bench.runs.schema import RunConfig


@dataclass(frozen=True, kw_only=True)
class Reproduce(IsolationOptions, ConnectionOptions, DrawsOptions, PriceOptions, Command):
    """Reruns an entry at another seed, and reports whether the intervals overlap.

    Evaluates a model with the settings of an entry at the next seed; for a drawn entry, on a new
    draw. Ends with exit code 1 if a 95 % interval of a score does not overlap with the entry's.
    """

    entry: Annotated[Path, Argument("ENTRY")]
    model: Annotated[str, Argument("MODEL", "the model's name here, which may differ from ENTRY's")]
    out: Annotated[Path | None, Option("DIR", "run directory (default: in runs/)")] = None

    def run(self) -> int:
        """Verify and rerun the entry, and print both scores; the same command resumes.

        `reproduction.json` in the run directory holds the comparison.
        """
        from ragen_bench.leaderboard import compare_rerun, read_entry
        from ragen_bench.leaderboard.announcements.draws import draw_for_rerun
        from ragen_bench.runs.directory import read_run
        from ragen_bench.runs.json_lines import read_whole, write_whole
        from ragen_bench.terminal.console import plain_console

        # A wrong entry is found before hours of model calls, not after.
        draws = self.find_draw()
        if not verify_entry(self.entry, {}, draws):
            return 1
        entry = read_entry(self.entry, draws)
        name = self.entry.absolute().name
        seed = entry.run.seed + 1
        out = self.out or Path("runs") / f"reproduce_{name}_seed{seed}"
        draw = draw_for_rerun(entry.run, out)
        if code := self._evaluation(entry.run, seed, out, draw).run():
            return code
        rerun = read_whole(out / "summary.json")
        if rerun["episodes"] < rerun["planned"]:
            raise UserError("the rerun is incomplete; the same command resumes it", exit_code=1)
        comparison = {
            "entry": name,
            "episodes_sha256": entry.episodes_sha256,
            "model": self.model,
            "seed": seed,
            **({"draw": read_run(out).config.as_json()["draw"]} if draw else {}),
            **compare_rerun(entry.summary.as_json(), rerun),
        }
        file = out / "reproduction.json"
        write_whole(file, comparison)
        console = plain_console()
        _print_reproduction(console, comparison)
        console.print(f"JSON    {file}", soft_wrap=True)
        return 0 if comparison["reproduced"] else 1

    def _evaluation(self, config: RunConfig, seed: int, out: Path, draw: Path | None) -> Evaluate:
        """Return the command that evaluates with an entry's settings at a seed, on a draw."""
        history = config.history
        return Evaluate(
            model=self.model,
            suite=config.suite,
            split=config.split,
            draw=draw,
            samples=config.samples,
            seed=seed,
            temperature=config.temperature,
            top_p=config.top_p,
            max_tokens=config.max_tokens,
            format=config.response_format,
            history="full" if history is None else "none" if history == 0 else str(history),
            constrain=config.constrained,
            **self.connection,
            isolate=self.isolate,
            memory=self.memory,
            prices=self.prices,
            out=out,
        )


def _print_reproduction(console: Console, comparison: JsonObject) -> None:
    """Print a line for the suite and each environment, and whether all intervals overlap."""
    from ragen_bench.pages.formats import short

    rows = [("suite", comparison["suite"])]
    rows += [(short(row["env"]), row) for row in comparison["envs"]]
    console.print(f"{'score, 95 %':<18} {'entry':>26} {'rerun':>26}")
    for name, row in rows:
        entry, rerun = (_format_score(row[side], row[f"{side}_interval"]) for side in _SIDES)
        overlap = "overlap" if row["overlap"] else "APART"
        console.print(f"{name:<18} {entry:>26} {rerun:>26}  {overlap}", soft_wrap=True)
    console.print("Reproduced." if comparison["reproduced"] else "NOT reproduced.")


_SIDES = ("entry", "rerun")


def _format_score(value: float, bounds: list[float]) -> str:
    return f"{value:.3f} ({bounds[0]:.3f} to {bounds[1]:.3f})"
