"""The shop's search: BM25 as Lucene computes it, over one document per product.

The index of a large catalogue is kept in mapped files in ragen's cache folder.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from array import array
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ragen_envs.core.cache_folder import VARIABLE, cache_folder
from ragen_envs.games.webshop.products import Catalogue, Product
from ragen_envs.games.webshop.tokens import terms

K1 = 0.9
B = 0.4
"""BM25 parameters of Anserini, the search engine of WebShop."""
HITS = 50
"""Most products of a search."""
QUERY_TERMS = 1024
"""Most distinct terms of a query, the first ones; Lucene rejects longer queries."""
KEPT_FROM = 10_000
"""Fewest products for which an index is kept on disk; building a smaller one is faster."""
_VERSION = "3"
"""Version of the index format and of the analysis, part of the index's name."""


class Index:
    """Finds the products of a catalogue by words; queries only read it, so threads may share it.

    The index of a large catalogue is built once, kept in `cache_folder()` and mapped
    into memory that all processes of a machine share.
    """

    def __init__(self, catalogue: Catalogue) -> None:
        documents = [document(product) for product in catalogue.products]
        if len(documents) < KEPT_FROM:
            self._postings = build(documents)
        else:
            digest = hashlib.sha256(_VERSION.encode())
            for text in documents:
                digest.update(b"\0" + text.encode("utf-8", "surrogatepass"))
            name = digest.hexdigest()[:32]
            self._postings = load(_cached_folder(name, lambda to: build(documents).save(to)))
        self._ranks: NDArray[np.intp] | None = None
        if catalogue.ties_by_asin:
            order = sorted(range(len(documents)), key=lambda i: catalogue.products[i].asin)
            self._ranks = np.argsort(order)

    def search(self, words: str) -> list[int]:
        """Return the positions of the best products, at most 50, the best one first.

        Products without any of the words are left out; ranks, or positions without them, order
        equal scores. A repeated word counts again; the order of words does not matter. Any text is
        valid.
        """
        vocabulary = self._postings.vocabulary
        known = Counter(vocabulary[term] for term in terms(words) if term in vocabulary)
        scores = self._postings.scores(sorted(islice(known.items(), QUERY_TERMS)))
        positions = np.flatnonzero(scores)
        if len(positions) > HITS:
            least = np.partition(scores[positions], -HITS)[-HITS]
            positions = positions[scores[positions] >= least]
        ties = positions if self._ranks is None else self._ranks[positions]
        order = np.lexsort((ties, -scores[positions]))
        return [int(position) for position in positions[order[:HITS]]]


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

    Source: Kamphuis et al. 2020, "Which BM25 do you mean?", the accurate variant of Lucene, with
    lengths as Lucene keeps them. Scores have four bytes, as in Lucene. Pairs are given by their
    term (grouped by document), document and number of occurrences; lengths are the documents'
    terms.
    """
    filled = np.count_nonzero(lengths)  # Lucene ignores documents without a term
    frequencies = np.bincount(columns)
    idf = np.log1p((filled - frequencies + 0.5) / (frequencies + 0.5))
    norms = K1 * (1 - B + B * kept_lengths(lengths) * (filled / max(lengths.sum(), 1)))
    parts: NDArray[np.float64] = idf[columns] * counts / (counts + norms[rows])
    return parts.astype(np.float32)


_ARRAYS = ("starts", "documents", "parts")
_VOCABULARY = "vocabulary.json"


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

    def save(self, folder: Path) -> None:
        for name in _ARRAYS:
            np.save(folder / f"{name}.npy", getattr(self, name))
        words = json.dumps({"size": self.size, "terms": list(self.vocabulary)})
        (folder / _VOCABULARY).write_text(words, encoding="ascii")


def load(folder: Path) -> Postings:
    """Return saved postings, with arrays mapped into memory."""
    try:
        words = json.loads((folder / _VOCABULARY).read_text(encoding="ascii"))
        arrays = {name: np.load(folder / f"{name}.npy", mmap_mode="r") for name in _ARRAYS}
        vocabulary = {term: number for number, term in enumerate(words["terms"])}
        return Postings(vocabulary, **arrays, size=words["size"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"the search index in {folder} is damaged ({type(error).__name__}): remove that folder"
        ) from None


def _cached_folder(name: str, fill: Callable[[Path], None]) -> Path:
    """Return a folder of WebShop's cache, filled if it is new.

    It appears atomically: processes that start together each fill a folder of their own, and the
    first one that is ready stays. The name determines the contents.
    """
    root = cache_folder() / "webshop"
    folder = root / name
    if folder.is_dir():
        return folder
    try:
        root.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix="new-", dir=root))
        try:
            fill(draft)
            draft.rename(folder)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    except OSError as error:
        if not folder.is_dir():
            raise ValueError(
                f"the search index cannot be kept in {root} ({error.strerror}): "
                f"name a folder for it in {VARIABLE}"
            ) from None
    return folder


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


def document(product: Product) -> str:
    """Return a product's indexed text, the `contents` of WebShop's public documents.jsonl."""
    options = ", and ".join(f"{name}: {', '.join(values)}" for name, values in product.options)
    first = product.bullets[0] if product.bullets else ""
    return f"{product.title} {product.description} {first} {options}".lower()
