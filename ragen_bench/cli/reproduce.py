"""`reproduce`: an entry of the leaderboard, played again at another seed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ragen_bench.cli.entries import verify_entry
from ragen_bench.cli.evaluate import Evaluate
from ragen_bench.cli.shared_options import DrawsOptions, PriceOptions
from ragen_bench.command_line import Argument, Command, Option
from ragen_bench.errors import UserError
from ragen_bench.settings.options import ConnectionOptions, IsolationOptions

if TYPE_CHECKING:
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
        """Verify and rerun the entry, and print both scores; the same command resumes."""
        from ragen_bench.leaderboard import compare_rerun, read_entry
        from ragen_bench.leaderboard.announcements import draw_for_rerun
        from ragen_bench.pages.formats import short
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
        file, console = out / "reproduction.json", plain_console()
        write_whole(file, comparison)
        rows = [("suite", comparison["suite"])]
        rows += [(short(row["env"]), row) for row in comparison["envs"]]
        console.print(f"{'score, 95 %':<18} {'entry':>26} {'rerun':>26}")
        for name, row in rows:
            before, after = (
                f"{row[side]:.3f} ({low:.3f} to {high:.3f})"
                for side in ("entry", "rerun")
                for low, high in [row[f"{side}_interval"]]
            )
            overlap = "overlap" if row["overlap"] else "APART"
            console.print(f"{name:<18} {before:>26} {after:>26}  {overlap}", soft_wrap=True)
        console.print("Reproduced." if comparison["reproduced"] else "NOT reproduced.")
        console.print(f"JSON    {file}", soft_wrap=True)
        return 0 if comparison["reproduced"] else 1

    def _evaluation(self, config: RunConfig, seed: int, out: Path, draw: Path | None) -> Evaluate:
        """Return the command that evaluates with an entry's settings at a seed, on a draw."""
        history = config.history
        return Evaluate(
            **{name: getattr(config, name) for name in _RERUN_SETTINGS},
            model=self.model,
            draw=draw,
            seed=seed,
            format=config.response_format,
            history="full" if history is None else "none" if history == 0 else str(history),
            constrain=config.constrained,
            **self.connection,
            isolate=self.isolate,
            memory=self.memory,
            prices=self.prices,
            out=out,
        )


_RERUN_SETTINGS = ("suite", "split", "samples", "temperature", "top_p", "max_tokens", "on_error")
