"""BM25 as Lucene computes it, over documents in memory.

Source: Kamphuis et al. 2020, "Which BM25 do you mean?", the accurate variant of Lucene.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from ragen_envs.core.terms import terms

K1 = 0.9
B = 0.4
"""BM25 parameters of Anserini, the search engine of WebShop."""
QUERY_TERMS = 1024
"""Most distinct terms of a query, the first ones; Lucene rejects longer queries."""


@dataclass(frozen=True)
class Postings:
    """The documents of each term, with their parts of the score.

    Term t has the entries `starts[t]` to `starts[t + 1]` of `documents` and `parts`; no document
    occurs twice among them. Terms are numbered from 0 in the order of the vocabulary; `size` is the
    number of documents.
    """

    vocabulary: dict[str, int]
    starts: NDArray[np.int64]
    documents: NDArray[np.int32]
    parts: NDArray[np.float32]
    size: int

    def scores(self, terms: Iterable[tuple[int, int]]) -> NDArray[np.float32]:
        """Return each document's score; the order of (term, count) pairs decides its rounding."""
        scores = np.zeros(self.size, dtype=np.float32)
        for term, times in terms:
            here = slice(int(self.starts[term]), int(self.starts[term + 1]))
            parts = self.parts[here]
            np.add.at(scores, self.documents[here], parts if times == 1 else parts * times)
        return scores

    def find(self, words: str, most: int, ranks: NDArray[np.intp] | None = None) -> list[int]:
        """Return the best documents, at most `most`, the best one first.

        Documents without any of the words are left out; ranks, or positions without them, order
        equal scores. A repeated word counts again; the order of words does not matter. Any text is
        valid.
        """
        known = Counter(self.vocabulary[term] for term in terms(words) if term in self.vocabulary)
        scores = self.scores(sorted(islice(known.items(), QUERY_TERMS)))
        positions = np.flatnonzero(scores)
        if len(positions) > most:
            least = np.partition(scores[positions], -most)[-most]
            positions = positions[scores[positions] >= least]
        ties = positions if ranks is None else ranks[positions]
        order = np.lexsort((ties, -scores[positions]))
        return [int(position) for position in positions[order[:most]]]


def build(documents: Iterable[str]) -> Postings:
    """Return the postings of documents, which are numbered in the order of the iterable."""
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
    """Return the contribution of each pair of term and document to the document's score.

    Scores have four bytes and lengths are rounded, as in Lucene. Pairs are given by their term
    (grouped by document), document and number of occurrences; lengths are the documents' terms.
    """
    filled = np.count_nonzero(lengths)  # Lucene ignores documents without a term
    frequencies = np.bincount(columns)
    idf = np.log1p((filled - frequencies + 0.5) / (frequencies + 0.5))
    norms = K1 * (1 - B + B * kept_lengths(lengths) * (filled / max(lengths.sum(), 1)))
    parts: NDArray[np.float64] = idf[columns] * counts / (counts + norms[rows])
    return parts.astype(np.float32)


_EXACT = 24
"""Numbers below it are exact; longer ones are counted from here."""
_BITS = 4


def kept_length(length: int) -> int:
    """Return a document length as Lucene 8 keeps it in one byte (`SmallFloat.intToByte4`).

    Numbers below 40 are exact; longer ones keep their four leading bits and are rounded down.
    """
    if length < _EXACT:
        return length
    rest = length - _EXACT
    dropped = max(rest.bit_length() - _BITS, 0)
    return _EXACT + (rest >> dropped << dropped)


def kept_lengths(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return `kept_length` of each length."""
    different, where = np.unique(lengths, return_inverse=True)
    kept = np.array([kept_length(int(length)) for length in different], dtype=np.int64)
    return kept[where]
