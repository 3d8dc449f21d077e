"""Writes the tables of docs/costs.md, from the tokens of recorded players.

`python -m docs.build_costs` writes the tables from docs/results/tokens.json. `--count RUN ...`
counts that file anew first, from the entries of the leaderboard and from runs of the suite `full`.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from docs.build_games import DOCS, replace_part
from ragen_bench.models.chat import Chat, make_chat
from ragen_bench.models.prompt import conversation
from ragen_bench.suites import SUITES

PAGE = DOCS / "costs.md"
COUNTS = DOCS / "results" / "tokens.json"
ENTRIES = DOCS.parent / "leaderboard" / "entries"
PLAYERS = ("random", "oracle")
COUNTED = [f"{player}_{suite}_test" for suite in ("quick", "core", "core-2") for player in PLAYERS]
PRICES = {"small": (0.1, 0.4), "medium": (1.0, 5.0), "large": (5.0, 25.0)}
"""Assumed dollars for a million tokens read and written."""
THOUGHT = 1000
"""Assumed tokens of a reasoning model's response."""
ANSWER_SECONDS, AT_ONCE = 3, 8
"""Assumed seconds for a response of a hosted model, and the default number of episodes at once."""
RATES = {
    "SmolLM2-135M, `hf/`, two CPU cores": 63,
    "0.5 billion parameters, `hf/`, one H100, 128 at once": 14_000,
    "8 billion parameters, `vllm/`, one H100, 64 at once": 3_300,
}
"""Tokens a second; docs/costs.md names their sources."""

Counts = dict[str, dict[str, int]]


@cache
def load_chat() -> Chat:
    """Return the chat template and tokenizer of SmolLM2."""
    from transformers import AutoTokenizer

    from ragen_bench.models.bundled import converted_folder

    folder = str(converted_folder())
    return make_chat(folder, AutoTokenizer.from_pretrained(folder))


def count(path: Path) -> dict[str, int]:
    """Return the tokens of a recorded run of an entry, or of a run directory.

    The prompts of all turns are made again with the form `think`. An earlier response counts as the
    suite's limit of tokens.
    """
    entry = path / "entry.json"
    run = json.loads((entry if entry.is_file() else path / "run.json").read_text(encoding="utf-8"))
    limit = run.get("run", run)["max_tokens"]
    totals = dict.fromkeys(("episodes", "turns", "read", "new", "written"), 0)
    for episode in _episodes(path):
        observations = [turn["observation"] for turn in episode["turns"]]
        lengths = [count_prompt(observations[0])]
        for observation in observations[1:]:
            lengths.append(lengths[-1] + limit + count_later(observation))
        turns = len(lengths)
        found = (1, turns, sum(lengths), lengths[-1] - (turns - 1) * limit, turns * limit)
        for name, number in zip(totals, found, strict=True):
            totals[name] += number
    return totals


@cache
def count_prompt(observation: str) -> int:
    """Return the tokens of the first turn's prompt."""
    return len(load_chat().tokenize(conversation([observation], [], "think")))


@cache
def count_later(observation: str) -> int:
    """Return the tokens that a later turn adds to the prompt, without the response before it."""
    messages = conversation(["", observation], [""], "think")
    return len(load_chat().tokenize(messages)) - count_prompt("")


def _episodes(path: Path) -> Iterator[dict[str, Any]]:
    packed = path / "episodes.jsonl.gz"
    if packed.is_file():
        with gzip.open(packed, "rt", encoding="utf-8") as lines:
            yield from map(json.loads, lines)
    else:
        with (path / "episodes.jsonl").open(encoding="utf-8") as lines:
            yield from map(json.loads, lines)


def build_page() -> str:
    """Return the text of the page with its tables replaced."""
    counts: Counts = json.loads(COUNTS.read_text(encoding="utf-8"))
    text = PAGE.read_text(encoding="utf-8")
    for name, rows in (
        ("tokens", _tokens(counts)),
        ("dollars", _dollars(counts)),
        ("times", _times(counts)),
    ):
        table = "\n".join(rows) + "\n"
        text = replace_part(text, f"<!-- costs: {name} -->\n", "<!-- end -->", table)
    return text


def _tokens(counts: Counts) -> Iterator[str]:
    yield "| suite | player | episodes | turns | read | read, with a cache | written at most |"
    yield "| --- | --- | ---: | ---: | ---: | ---: | ---: |"
    for suite in SUITES:
        for player in PLAYERS:
            of = counts[f"{player}_{suite}_test"]
            numbers = " | ".join(
                f"{of[key]:,}" for key in ("episodes", "turns", "read", "new", "written")
            )
            yield f"| `{suite}` | {player} | {numbers} |"


def _dollars(counts: Counts) -> Iterator[str]:
    yield f"| suite | {' | '.join(PRICES)} | {' | '.join(f'{n}, reasoning' for n in PRICES)} |"
    yield "| --- " + "| ---: " * (2 * len(PRICES)) + "|"
    for suite in SUITES:
        cells = [
            _range(
                (of["read"] * prompt + of["written"] * completion) / 1e6
                for of in _players(counts, suite)
            )
            for prompt, completion in PRICES.values()
        ]
        # Thoughts are not read again, so prompts have the same length.
        cells += [
            _range(
                (of["read"] * prompt + of["turns"] * THOUGHT * completion) / 1e6
                for of in _players(counts, suite)
            )
            for prompt, completion in PRICES.values()
        ]
        yield f"| `{suite}` | {' | '.join(cells)} |"


def _times(counts: Counts) -> Iterator[str]:
    yield f"| model | {' | '.join(f'`{suite}`' for suite in SUITES)} |"
    yield "| --- " + "| ---: " * len(SUITES) + "|"
    hosted = [
        _minutes(of["turns"] * ANSWER_SECONDS / AT_ONCE for of in _players(counts, suite))
        for suite in SUITES
    ]
    yield f"| hosted, {ANSWER_SECONDS} s a response, {AT_ONCE} at once | {' | '.join(hosted)} |"
    for name, rate in RATES.items():
        cells = [
            _minutes(of["written"] / rate for of in _players(counts, suite)) for suite in SUITES
        ]
        yield f"| {name} | {' | '.join(cells)} |"


def _players(counts: Counts, suite: str) -> list[dict[str, int]]:
    return [counts[f"{player}_{suite}_test"] for player in PLAYERS]


def _range(amounts: Iterator[float]) -> str:
    low, high = sorted(amounts)
    return f"{low:.2f} to {high:.2f}" if high < 10 else f"{low:.0f} to {high:.0f}"


def _minutes(seconds: Iterator[float]) -> str:
    low, high = sorted(value / 60 for value in seconds)
    if high < 1:
        return "under 1 min"
    if high > 120:
        return f"{low / 60:.0f} to {high / 60:.0f} h"
    return f"{low:.0f} to {high:.0f} min"


def main() -> None:
    """Write the page, and the counts where asked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--count", nargs="*", metavar="RUN", type=Path, help="runs of `full`: PLAYER_full_test"
    )
    runs = parser.parse_args().count
    if runs is not None:
        counted = {path.name: count(path) for path in (*(ENTRIES / n for n in COUNTED), *runs)}
        COUNTS.write_text(json.dumps(counted, indent=1) + "\n", encoding="utf-8", newline="\n")
    PAGE.write_text(build_page(), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
