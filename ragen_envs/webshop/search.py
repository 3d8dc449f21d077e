"""The shop's search: BM25 as Lucene computes it, over the products' documents."""

from __future__ import annotations

import hashlib
from array import array
from collections import Counter
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragen_envs import extras
from ragen_envs.webshop.cache import cached_folder
from ragen_envs.webshop.documents import document
from ragen_envs.webshop.lengths import kept_lengths
from ragen_envs.webshop.products import Catalogue
from ragen_envs.webshop.tokens import terms

try:
    import bm25s
    from bm25s import BM25
except ImportError:
    raise extras.missing("ragen_envs.webshop", "bm25s", "webshop") from None

K1 = 0.9
B = 0.4
"""The parameters of Anserini, which WebShop's engine searches with."""
HITS = 50
"""Products that a search gives at most."""
QUERY_TERMS = 1024
"""Different terms of a query that count, the first ones; Lucene refuses queries of more."""
KEPT_FROM = 10_000
"""Products from which on an index is kept on disk; a smaller one is built in less than that."""
_VERSION = "1"
"""Changes with everything that decides an index besides the documents."""


class Index:
    """Finds the products of a catalogue by words.

    The index of a large catalogue is built once, kept in ragen's cache (see `cache.VARIABLE`) and
    mapped into memory, which all processes of a machine share. A query reads it and changes
    nothing, so threads may share an index.

    Args:
        catalogue: what is searched.

    Raises:
        ValueError: if the index is to be kept and cannot be.
    """

    def __init__(self, catalogue: Catalogue) -> None:
        documents = [document(product) for product in catalogue.products]
        if len(documents) < KEPT_FROM:
            self._engine = _build(documents)
        else:
            folder = cached_folder(_name(documents), lambda to: _build(documents).save(to))
            self._engine = BM25.load(folder, mmap=True)
        self._vocabulary: dict[str, int] = self._engine.vocab_dict

    def search(self, words: str) -> list[int]:
        """Return the positions of the products that fit best, at most 50, the best one first.

        A product without any of the words is none of them; equal scores are in the catalogue's
        order. A word counts as often as it is said, in whatever order. Any text will do; what is
        no word is passed over.
        """
        known = [self._vocabulary[term] for term in terms(words) if term in self._vocabulary]
        if not known:
            return []
        said: dict[int, list[int]] = {}
        for term, times in sorted(islice(Counter(known).items(), QUERY_TERMS)):
            said.setdefault(times, []).append(term)
        scores = [times * self._engine.get_scores_from_ids(some) for times, some in said.items()]
        return _best(np.sum(scores, axis=0))


def _name(documents: list[str]) -> str:
    """Return the name of the folder that keeps the index of these documents."""
    digest = hashlib.sha256(f"{_VERSION} {bm25s.__version__}".encode())
    for text in documents:
        digest.update(b"\0" + text.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:32]


def _build(documents: list[str]) -> BM25:
    """Return the index of documents, of the scores that each term gives to each of them.

    The library's own way of building knows no lengths of one byte, so its tables are made here.
    """
    vocabulary: dict[str, int] = {}
    columns, counts, sizes, lengths = array("i"), array("i"), [], []
    for text in documents:
        found = Counter(terms(text))
        columns.extend([vocabulary.setdefault(term, len(vocabulary)) for term in found])
        counts.extend(found.values())
        sizes.append(len(found))
        lengths.append(found.total())
    engine = BM25(method="lucene", k1=K1, b=B)
    engine.vocab_dict = vocabulary
    engine.nonoccurrence_array = None
    engine.scores = _scores(
        np.asarray(columns), np.asarray(counts), np.array(sizes, int), np.array(lengths, int)
    )
    return engine


def _scores(
    columns: NDArray[np.int32],
    counts: NDArray[np.int32],
    sizes: NDArray[np.int64],
    lengths: NDArray[np.int64],
) -> dict[str, Any]:
    """Return BM25's part of each pair of a term and a document, terms after one another.

    Source: Kamphuis et al. 2020, "Which BM25 do you mean?", the accurate variant of Lucene, with
    lengths as Lucene keeps them. Scores have four bytes, as in Lucene.

    Args:
        columns: the term of each pair, documents after one another.
        counts: how often it occurs in the document.
        sizes: the number of pairs of each document.
        lengths: the number of terms of each document, with repetitions.
    """
    rows = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    filled = np.count_nonzero(sizes)  # Lucene knows nothing of documents without a term
    frequencies = np.bincount(columns)
    idf = np.log1p((filled - frequencies + 0.5) / (frequencies + 0.5))
    norms = K1 * (1 - B + B * kept_lengths(lengths) * (filled / max(lengths.sum(), 1)))
    parts = idf[columns] * counts / (counts + norms[rows])
    order = np.argsort(columns, kind="stable")
    return {
        "data": parts[order].astype(np.float32),
        "indices": rows[order],
        "indptr": np.concatenate(([0], np.cumsum(frequencies))),
        "num_docs": len(sizes),
    }


def _best(scores: NDArray[np.float32]) -> list[int]:
    """Return the positions of the highest positive scores, in order."""
    found = np.flatnonzero(scores)
    if len(found) > HITS:
        least = np.partition(scores[found], -HITS)[-HITS]
        found = found[scores[found] >= least]
    order = np.argsort(-scores[found], kind="stable")
    return [int(position) for position in found[order[:HITS]]]
