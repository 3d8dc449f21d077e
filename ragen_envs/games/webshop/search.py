"""The shop's search: BM25 as Lucene computes it, over one document per product.

The index of a large catalogue is kept in mapped files in ragen's cache folder.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ragen_envs.core.bm25 import Postings, build
from ragen_envs.core.cache_folder import VARIABLE, cache_folder
from ragen_envs.games.webshop.products import Catalogue, Product

HITS = 50
"""Most products of a search."""
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
            self._postings = load(_cached_folder(name, lambda to: save(build(documents), to)))
        self._ranks: NDArray[np.intp] | None = None
        if catalogue.ties_by_asin:
            order = sorted(range(len(documents)), key=lambda i: catalogue.products[i].asin)
            self._ranks = np.argsort(order)

    def search(self, words: str) -> list[int]:
        """Return the positions of the best products, at most 50, the best one first.

        Products of equal scores are ordered by their ranks, see `Postings.find`.
        """
        return self._postings.find(words, HITS, self._ranks)


_ARRAYS = ("starts", "documents", "parts")
_VOCABULARY = "vocabulary.json"


def save(postings: Postings, folder: Path) -> None:
    """Write postings into a folder."""
    for name in _ARRAYS:
        np.save(folder / f"{name}.npy", getattr(postings, name))
    words = json.dumps({"size": postings.size, "terms": list(postings.vocabulary)})
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


def document(product: Product) -> str:
    """Return a product's indexed text, the `contents` of WebShop's public documents.jsonl."""
    options = ", and ".join(f"{name}: {', '.join(values)}" for name, values in product.options)
    first = product.bullets[0] if product.bullets else ""
    return f"{product.title} {product.description} {first} {options}".lower()
