"""Postings: the documents of each term with their parts of the score, kept in mapped files."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

_ARRAYS = ("starts", "documents", "parts")
_VOCABULARY = "vocabulary.json"


@dataclass(frozen=True)
class Postings:
    """The lists of all terms, one after another.

    The list of term number t are the entries `starts[t]` to `starts[t + 1]` of the other two
    arrays; no document is twice in it.

    Attributes:
        vocabulary: the numbers of the terms, from 0 in the dictionary's order.
        starts: where each term's list begins, and where the last one ends.
        documents: the positions of documents.
        parts: what the term gives to the document's score.
        size: the number of documents.
    """

    vocabulary: dict[str, int]
    starts: NDArray[np.int64]
    documents: NDArray[np.int32]
    parts: NDArray[np.float32]
    size: int

    def scores(self, terms: Iterable[tuple[int, int]]) -> NDArray[np.float32]:
        """Return the score of each document.

        Four bytes round as the sum goes, so the order of the terms decides the last bits.

        Args:
            terms: pairs of a term's number and how often it counts, in the order of summation.
        """
        scores = np.zeros(self.size, dtype=np.float32)
        for term, times in terms:
            here = slice(int(self.starts[term]), int(self.starts[term + 1]))
            parts = self.parts[here]
            np.add.at(scores, self.documents[here], parts if times == 1 else parts * times)
        return scores

    def save(self, folder: Path) -> None:
        """Write the files into a folder."""
        for name in _ARRAYS:
            np.save(folder / f"{name}.npy", getattr(self, name))
        words = json.dumps({"size": self.size, "terms": list(self.vocabulary)})
        (folder / _VOCABULARY).write_text(words, encoding="ascii")


def load(folder: Path) -> Postings:
    """Return what was saved, with its arrays mapped into memory.

    Raises:
        ValueError: if the files are not those that were saved.
    """
    try:
        words = json.loads((folder / _VOCABULARY).read_text(encoding="ascii"))
        arrays = {name: np.load(folder / f"{name}.npy", mmap_mode="r") for name in _ARRAYS}
        vocabulary = {term: number for number, term in enumerate(words["terms"])}
        return Postings(vocabulary, **arrays, size=words["size"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"the search index in {folder} is damaged ({type(error).__name__}): remove that folder"
        ) from None
