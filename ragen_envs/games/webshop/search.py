"""The shop's search: BM25 as Lucene computes it, over the products' documents."""

from __future__ import annotations

import hashlib
from array import array
from collections import Counter
from collections.abc import Iterable
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from ragen_envs.games.webshop.cache import cached_folder
from ragen_envs.games.webshop.documents import document
from ragen_envs.games.webshop.lengths import kept_lengths
from ragen_envs.games.webshop.postings import Postings, load
from ragen_envs.games.webshop.products import Catalogue
from ragen_envs.games.webshop.tokens import terms

K1 = 0.9
B = 0.4
"""The parameters of Anserini, which WebShop's engine searches with."""
HITS = 50
"""Products that a search gives at most."""
QUERY_TERMS = 1024
"""Different terms of a query that count, the first ones; Lucene refuses queries of more."""
KEPT_FROM = 10_000
"""Products from which on an index is kept on disk; a smaller one is built in less than that."""
_VERSION = "3"
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
            self._postings = build(documents)
        else:
            self._postings = load(
                cached_folder(_name(documents), lambda to: build(documents).save(to))
            )
        self._ranks: NDArray[np.intp] | None = None
        if catalogue.ties_by_asin:
            order = sorted(range(len(documents)), key=lambda i: catalogue.products[i].asin)
            self._ranks = np.argsort(order)

    def search(self, words: str) -> list[int]:
        """Return the positions of the products that fit best, at most 50, the best one first.

        Products without any of the words are left out; equal scores are in the order that the
        catalogue says. A word counts as often as it is said, in whatever order. Any text will do;
        what is no word is passed over.
        """
        vocabulary = self._postings.vocabulary
        known = Counter(vocabulary[term] for term in terms(words) if term in vocabulary)
        scores = self._postings.scores(sorted(islice(known.items(), QUERY_TERMS)))
        return _best(scores, self._ranks)


def _name(documents: list[str]) -> str:
    """Return the name of the folder that keeps the index of these documents."""
    digest = hashlib.sha256(_VERSION.encode())
    for text in documents:
        digest.update(b"\0" + text.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:32]


def build(documents: Iterable[str]) -> Postings:
    """Return the lists of the terms of documents, whose positions are those of the iterable."""
    vocabulary: dict[str, int] = {}
    columns, counts, sizes, lengths = array("i"), array("i"), array("i"), array("q")
    for text in documents:
        counted = Counter(terms(text))
        columns.extend([vocabulary.setdefault(term, len(vocabulary)) for term in counted])
        counts.extend(counted.values())
        sizes.append(len(counted))
        lengths.append(counted.total())
    column, size = np.asarray(columns), np.asarray(sizes)
    row = np.repeat(np.arange(len(size), dtype=np.int32), size)
    part = _parts(column, row, np.asarray(counts), np.asarray(lengths))
    order = np.argsort(column, kind="stable")
    return Postings(
        vocabulary,
        starts=np.concatenate(([0], np.cumsum(np.bincount(column, minlength=len(vocabulary))))),
        documents=row[order],
        parts=part[order],
        size=len(size),
    )


def _parts(
    columns: NDArray[np.int32],
    rows: NDArray[np.int32],
    counts: NDArray[np.int32],
    lengths: NDArray[np.int64],
) -> NDArray[np.float32]:
    """Return what each pair of a term and a document adds to the document's score.

    Source: Kamphuis et al. 2020, "Which BM25 do you mean?", the accurate variant of Lucene, with
    lengths as Lucene keeps them. Scores have four bytes, as in Lucene.

    Args:
        columns: the term of each pair, documents after one another.
        rows: the document of each pair.
        counts: how often the term occurs in the document.
        lengths: the number of terms of each document, with repetitions.
    """
    filled = np.count_nonzero(lengths)  # Lucene knows nothing of documents without a term
    frequencies = np.bincount(columns)
    idf = np.log1p((filled - frequencies + 0.5) / (frequencies + 0.5))
    norms = K1 * (1 - B + B * kept_lengths(lengths) * (filled / max(lengths.sum(), 1)))
    parts: NDArray[np.float64] = idf[columns] * counts / (counts + norms[rows])
    return parts.astype(np.float32)


def _best(scores: NDArray[np.float32], ranks: NDArray[np.intp] | None) -> list[int]:
    """Return the positions of the highest positive scores, in order; equal ones by their rank.

    Without ranks they are ordered by position.
    """
    positions = np.flatnonzero(scores)
    if len(positions) > HITS:
        least = np.partition(scores[positions], -HITS)[-HITS]
        positions = positions[scores[positions] >= least]
    ties = positions if ranks is None else ranks[positions]
    order = np.lexsort((ties, -scores[positions]))
    return [int(position) for position in positions[order[:HITS]]]
