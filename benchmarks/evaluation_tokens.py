"""How many tokens an evaluation takes, by the episodes of a leaderboard entry, as Markdown.

    PYTHONPATH=. python benchmarks/evaluation_tokens.py [ENTRY ...]

The definitions of the counts are printed under the table.
"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path
from typing import Any

from transformers import AutoTokenizer

from ragen_bench.models.bundled import converted_folder
from ragen_bench.models.chat import Chat, make_chat
from ragen_bench.models.prompt import conversation
from ragen_bench.suites import SUITES

ENTRIES = Path(__file__).parents[1] / "leaderboard" / "entries"
DEFAULT = ("random_core_test", "oracle_core_test")
LIMIT = SUITES["core"].max_tokens
NOTES = f"""\
- The prompts of every turn are made again from the recorded episodes, with thoughts asked for, and
  counted by SmolLM2's tokenizer. Each earlier answer counts as {LIMIT} tokens, the suite's limit.
- Without a cache every prompt is read whole; with one, only what stands after the last turn's.
- An answer is written of {LIMIT} tokens at most."""


def tokens(episode: dict[str, Any], chat: Chat) -> tuple[int, int, int]:
    """Return turns, prompt tokens of all turns, and those that no earlier turn has."""
    turns = episode["turns"]
    observations = [turn["observation"] for turn in turns]
    lengths = []
    for turn in range(len(turns)):
        messages = conversation(observations[: turn + 1], [""] * turn, "think")
        lengths.append(len(chat.tokenize(messages)) + turn * LIMIT)
    return len(turns), sum(lengths), lengths[-1] - (len(turns) - 1) * LIMIT


def main() -> None:
    """Print a row for each entry."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("entries", nargs="*", default=DEFAULT, metavar="ENTRY")
    folder = str(converted_folder())
    chat = make_chat(folder, AutoTokenizer.from_pretrained(folder))
    print("| entry | episodes | turns | read without a cache | read with one | written at most |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for name in parser.parse_args().entries:
        with gzip.open(ENTRIES / name / "episodes.jsonl.gz", "rt", encoding="utf-8") as lines:
            counted = [tokens(json.loads(line), chat) for line in lines]
        turns, read, new = (sum(column) for column in zip(*counted, strict=True))
        print(f"| {name} | {len(counted):,} | {turns:,} | {read:,} | {new:,} | {turns * LIMIT:,} |")
    print(f"\nWhat was counted:\n\n{NOTES}")


if __name__ == "__main__":
    main()
