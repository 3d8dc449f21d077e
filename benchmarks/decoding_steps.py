"""Operations and host waits of the decode loop of `hf/`, and its speed, as a Markdown table.

    PYTHONPATH=.:trainers python benchmarks/decoding_steps.py [--against CHECKOUT] [--rounds N]

Two random models, of 383,040 and 25,959,424 parameters, decode on one thread of the CPU.
With `--against`, the code of another checkout is measured in turns with this one, and tokens and
log-probabilities are compared.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from time import process_time
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from ragen_bench.models.base import Sampling
from ragen_bench.models.hf.decoding import Decoder
from ragen_bench.models.hf.loading import LoadedModel, load
from ragen_bench.models.hf.sampling import Generation
from ragen_envs.core.instances import RandomStream
from ragen_starpo.small_model import Shape, make_small_model

SHAPES = {"small": Shape(), "mid": Shape(512, 8, 8, 1408)}
TOKENS = {"small": 128, "mid": 32}
"""Tokens of an answer."""
ROWS, PROMPT = 16, 60
WAITS = {"tolist", "item", "cpu", "numpy", "nonzero", "__bool__", "__int__", "__float__"}
"""Functions of a tensor for which the host waits until the device has computed it."""
NOTES = f"""
- {ROWS} conversations with prompts of {PROMPT} random tokens. Operator calls are those of torch's
  dispatcher in a step that decodes a token of each, sampling and log-probabilities included. Waits
  are calls for which the host would wait for a GPU, for each token of an answer.
- Where a block has several steps, as on a GPU, the host looks at the end of each block.
- Tokens a second of CPU: the fastest of the rounds, prompts included."""


class Operators(TorchDispatchMode):
    """Counts the calls of operators."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Count and call."""
        self.count += 1
        return func(*args, **(kwargs or {}))


class Functions(TorchFunctionMode):
    """Counts the calls of functions by their names."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Count and call."""
        self.counts[getattr(func, "__name__", "")] += 1
        return func(*args, **(kwargs or {}))


def decoder_of(loaded: LoadedModel, tokens: int, steps: int) -> Decoder:
    """Return a decoder; that of an older checkout has one step a block."""
    several: Any = {} if steps == 1 else {"steps": steps}
    sampling = Sampling(1.0, tokens, "", 0)
    return Decoder(loaded, sampling, ROWS, log_probs=True, **several)


def ask(decoder: Decoder) -> list[Generation]:
    """Submit the prompts."""
    generator = torch.Generator().manual_seed(0)
    prompts = torch.randint(4, 300, (ROWS, PROMPT), generator=generator).tolist()
    return [decoder.submit(ids, RandomStream("steps", n)) for n, ids in enumerate(prompts)]


def count(loaded: LoadedModel, steps: int) -> tuple[float, float]:
    """Return operator calls a step, and waits of the host a token, of a whole run's middle."""
    decoder = decoder_of(loaded, 10_000, steps)
    passes: list[None] = []
    hook = loaded.model.register_forward_hook(lambda *_: passes.append(None))
    generations = ask(decoder)
    with torch.no_grad():  # in inference mode, operators made of others would count as one
        decoder._step()  # noqa: SLF001 - the prompts
        before = sum(len(one.ids) for one in generations)
        passes.clear()
        with Operators() as operators, Functions() as functions:
            for _ in range(3):
                decoder._step()  # noqa: SLF001
    hook.remove()
    sampled = sum(len(one.ids) for one in generations) - before
    waits = sum(functions.counts[name] for name in WAITS)
    return operators.count / len(passes), waits / sampled


def speed(loaded: LoadedModel, tokens: int, steps: int) -> tuple[float, str]:
    """Return tokens a second of CPU, and a digest of tokens and log-probabilities."""
    decoder = decoder_of(loaded, tokens, steps)
    begin = process_time()
    generations = ask(decoder)
    ended = 0
    while ended < len(generations):
        ended += len(decoder.collect())
    spent = process_time() - begin
    sampled = [(one.ids, one.log_probs) for one in generations]
    digest = hashlib.sha256(json.dumps(sampled).encode()).hexdigest()
    return sum(len(ids) for ids, _ in sampled) / spent, digest


def measure(folder: Path, name: str, steps: int) -> dict[str, Any]:
    """Return the metrics of one model with the code on the path."""
    torch.set_num_threads(1)
    loaded = replace(load(str(folder / name)), ends=frozenset())
    operators, waits = count(loaded, steps)
    rate, digest = max(speed(loaded, TOKENS[name], steps) for _ in range(3))
    return {"operators": operators, "waits": waits, "rate": rate, "digest": digest}


def ways(against: Path | None) -> dict[str, Callable[[Path, str], dict[str, Any]]]:
    """Return how each row of the table is measured, in a process with its code."""

    def run(checkout: Path, steps: int) -> Callable[[Path, str], dict[str, Any]]:
        def measured(folder: Path, name: str) -> dict[str, Any]:
            path = os.pathsep.join([str(checkout), str(checkout / "trainers")])
            command = [sys.executable, __file__, "--measure", str(folder), name, str(steps)]
            environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
            done = subprocess.run(
                command, env=environment, cwd=checkout, check=True, stdout=subprocess.PIPE
            )
            found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
            return found

        return measured

    here = Path(__file__).resolve().parents[1]
    before = {"before": run(against.resolve(), 1)} if against else {}
    return {**before, "a step a block (CPU)": run(here, 1), "8 steps a block (GPU)": run(here, 8)}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--against", type=Path, help="another checkout, measured in turns")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        folder, name, steps = options.measure
        print(json.dumps(measure(Path(folder), name, int(steps))))
        return
    print("| model | way | operator calls a step | waits a token | tokens a second of CPU | |")
    print("| --- | --- | ---: | ---: | ---: | --- |", flush=True)
    with tempfile.TemporaryDirectory() as place:
        for name, shape in SHAPES.items():
            make_small_model(Path(place) / name, shape, 0)
            print_rows(Path(place), name, options.against, options.rounds)
    print(NOTES)


def print_rows(folder: Path, name: str, against: Path | None, rounds: int) -> None:
    """Print the rows of one model."""
    found: dict[str, Sequence[dict[str, Any]]] = {}
    measured = ways(against)
    for _ in range(rounds):
        for way, measure_way in measured.items():
            found[way] = [*found.get(way, ()), measure_way(folder, name)]
    first = next(iter(found.values()))
    for way, several in found.items():
        best = max(several, key=lambda one: one["rate"])
        alike = "the same bits" if best["digest"] == first[0]["digest"] else ""
        print(
            f"| {name} | {way} | {best['operators']:.0f} | {best['waits']:.4f} "
            f"| {best['rate']:,.0f} | {'' if several is first else alike} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
