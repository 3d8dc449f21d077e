"""`reproduce`: reruns an entry at another seed, and compares the intervals."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ragen_bench.cli.evaluate import Evaluate
from ragen_bench.cli.groups import DrawsOptions, PriceOptions
from ragen_bench.cli.options import Command
from ragen_bench.errors import UserError
from ragen_bench.options.groups import ConnectionOptions, IsolationOptions
from ragen_bench.options.looks import Argument, Option

if TYPE_CHECKING:
    from ragen_bench.runs.schema import RunConfig


@dataclass(frozen=True, kw_only=True)
class Reproduce(IsolationOptions, ConnectionOptions, DrawsOptions, PriceOptions, Command):
    """Reruns an entry at another seed, and says whether the intervals overlap.

    Evaluates a model with the settings of an entry at the next seed; of a drawn entry, on a draw of
    its own. Ends with exit code 1 if a 95 % interval of a score does not overlap with the entry's.
    """

    entry: Annotated[Path, Argument("ENTRY")]
    model: Annotated[str, Argument("MODEL", "the model here; it may have another name than there")]
    out: Annotated[Path | None, Option("DIR", "run directory (default: in runs/)")] = None

    def run(self) -> int:
        """Verify and rerun the entry, and print both scores; the same command resumes.

        `reproduction.json` in the run directory says what was compared.
        """
        from ragen_bench.console.plain import plain_console
        from ragen_bench.console.reproduction import print_reproduction
        from ragen_bench.console.verification import verify_entry
        from ragen_bench.leaderboard import compare_rerun, read_entry
        from ragen_bench.leaderboard.announcements.draws import draw_for_rerun
        from ragen_bench.runs.directory import read_run
        from ragen_bench.runs.json_lines import read_whole, write_whole

        # An entry whose figures are wrong is found before hours of answers, not after.
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
            raise UserError(
                "the rerun is incomplete; the same command goes on from there", exit_code=1
            )
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
        print_reproduction(console, comparison)
        console.print(f"JSON    {file}", soft_wrap=True)
        return 0 if comparison["reproduced"] else 1

    def _evaluation(self, config: RunConfig, seed: int, out: Path, draw: Path | None) -> Evaluate:
        """Return the evaluation with an entry's settings at a seed, and on a draw."""
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
