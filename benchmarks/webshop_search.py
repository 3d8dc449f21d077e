"""WebShop's search at 1,000 and 100,000 products: build, opening, queries, memory.

    python benchmarks/webshop_search.py            # --sizes 1000 100000 --words 150

Each line is measured in a process of its own, in CPU time: other work does not count. The documents
are titles of random words, as long as those of the public files and with frequencies as in texts,
which is harder for the search than the generated catalogue is.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from time import process_time

import numpy as np

from ragen_envs.games.webshop.products import Catalogue, Product
from ragen_envs.games.webshop.search import Index

VOCABULARY = 200_000
QUERIES = 300
QUERY_WORDS = 8
LONG_QUERY = 10_000
"""Characters of the longest query."""


def catalogue(size: int, words: int) -> Catalogue:
    """Return a catalogue of titles with words of frequencies as 1 / rank."""
    titles = (" ".join(row) for row in _words(size, words, seed=0))
    return Catalogue(tuple(_product(i, title) for i, title in enumerate(titles)), "benchmark")


def _words(rows: int, words: int, seed: int) -> list[list[str]]:
    random = np.random.default_rng(seed)
    ranks = np.exp(random.random((rows, words)) * np.log(VOCABULARY)).astype(int)
    return [[f"w{rank}" for rank in row] for row in ranks]


def _product(place: int, title: str) -> Product:
    return Product(f"B{place:09}", title, "", (), (1.0, 1.0), (), "", (), (), ())


def measure(size: int, words: int) -> str:
    """Return the row of one opening of an index, in this process."""
    shop = catalogue(size, words)
    before = _memory()
    start = process_time()
    index = Index(shop)
    opened = process_time() - start
    times = []
    for query in _words(QUERIES, QUERY_WORDS, seed=1):
        start = process_time()
        index.search(" ".join(query))
        times.append(1000 * (process_time() - start))
    long = " ".join(word for row in _words(400, 4, seed=2) for word in row)[:LONG_QUERY]
    start = process_time()
    index.search(long)
    longest = 1000 * (process_time() - start)
    alone, mapped = (after - then for after, then in zip(_memory(), before, strict=True))
    return (
        f"{opened:.2f} s | {np.median(times):.2f} / {np.quantile(times, 0.99):.2f} | "
        f"{longest:.1f} | {alone:.0f} | {mapped:.0f} |"
    )


def _memory() -> tuple[float, float]:
    """Return the megabytes that this process has alone, and those of files that are mapped."""
    text = Path("/proc/self/smaps_rollup").read_text(encoding="ascii")
    sizes = {name: int(size) for name, size in re.findall(r"(\w+): +(\d+) kB", text)}
    alone = sizes["Anonymous"]
    return alone / 1024, (sizes["Rss"] - alone) / 1024


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 100_000])
    parser.add_argument("--words", type=int, default=150, help="words of a document")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(measure(given.one, given.words))
        return
    print("| products | process | Index(...) | query, median / 99 %, ms | long query, ms |", end="")
    print(
        " memory of its own, MB | shared, MB |\n| ---: | --- | ---: | ---: | ---: | ---: | ---: |"
    )
    with tempfile.TemporaryDirectory() as folder:
        for size in given.sizes:
            for what in ("first", "again"):
                row = subprocess.run(
                    [sys.executable, __file__, "--one", str(size), "--words", str(given.words)],
                    env=os.environ | {"RAGEN_CACHE": folder},
                    check=True,
                    capture_output=True,
                    text=True,
                ).stdout
                print(f"| {size} | {what} | {row}", end="")
        kept = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())
        print(f"kept on disk: {kept / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
