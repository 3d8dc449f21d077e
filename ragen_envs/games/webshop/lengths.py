"""Lengths of documents as Lucene keeps them, in one byte.

Source: `SmallFloat.intToByte4` of Lucene 8: numbers below 40 are exact, longer ones keep their
four leading bits and are rounded down.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_EXACT = 24
"""Numbers up to this one have a byte of their own; the rest is counted from here on."""
_BITS = 4


def kept_length(length: int) -> int:
    """Return what is left of a number of terms after a way through the byte."""
    if length < _EXACT:
        return length
    rest = length - _EXACT
    dropped = max(rest.bit_length() - _BITS, 0)
    return _EXACT + (rest >> dropped << dropped)


def kept_lengths(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return `kept_length` of each."""
    different, where = np.unique(lengths, return_inverse=True)
    kept = np.array([kept_length(int(length)) for length in different], dtype=np.int64)
    return kept[where]
