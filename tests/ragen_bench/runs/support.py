"""Plays runs, reads them, and catches the one line of a refusal."""

import pytest

from ragen_bench.episodes.evaluation import play_run
from ragen_bench.errors import UserError
from ragen_bench.runs.directory import read_run


def finish(evaluation, model, path):
    run = play_run(evaluation, model, path)
    run.unlock()
    return run


def read_all(path):
    run = read_run(path)
    list(run.episodes())
    run.seconds()


def one_line_error(path, command):
    with pytest.raises(UserError) as caught:
        command(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)
