"""Rows are read by the thousand, from one file."""

from functools import cache

import pytest

from ragen_starpo.recipes import files


@pytest.fixture(scope="package", autouse=True)
def rows_read_once():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "sweeps", cache(files.sweeps))
        yield
