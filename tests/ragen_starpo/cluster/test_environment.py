"""Variables that verl needs come and go."""

import os

import pytest

from ragen_starpo.cluster.ray_session import environment
from tests.ragen_starpo.verl_process import ONE_PROCESS


def test_variables_are_taken_back_after_an_error(monkeypatch):
    monkeypatch.setenv("RANK", "7")
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    before = dict(os.environ)

    def fails():
        with environment(ONE_PROCESS):
            assert (os.environ["RANK"], os.environ["WORLD_SIZE"]) == ("0", "1")
            raise ArithmeticError

    with pytest.raises(ArithmeticError):
        fails()
    assert dict(os.environ) == before
