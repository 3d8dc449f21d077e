"""Cases and examples of a test, of which `make check` tries few."""

import pytest
from hypothesis import settings


def first_fast(cases, fast=1):
    """Return the cases, tuples of arguments or single ones, with all but the first marked slow."""
    return [
        pytest.param(
            *(case if isinstance(case, tuple) else (case,)),
            marks=[] if number < fast else pytest.mark.slow,
        )
        for number, case in enumerate(cases)
    ]


def examples(count):
    """Return the number of examples of a property that has `count` of them in `make test`."""
    return max(1, count * settings().max_examples // 100)
