"""Runs of two players and of two seeds, which comparisons share."""

import json
import shutil

import pytest

from ragen_bench.runs.directory import read_run

from .compared import played


@pytest.fixture(scope="package")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="package")
def random_run(folder):
    return played(folder / "random")


@pytest.fixture(scope="package")
def oracle_run(folder):
    return played(folder / "oracle", model="oracle", samples=3)


@pytest.fixture(scope="package")
def other_seed(folder):
    return played(folder / "seed", seed=1)


@pytest.fixture
def changed(random_run, tmp_path):
    """Copy the random run with another run.json."""

    def change(name="changed", **changes):
        copy = tmp_path / name
        shutil.copytree(random_run.path, copy)
        config = json.loads((copy / "run.json").read_text())
        config.update(changes)
        (copy / "run.json").write_text(json.dumps(config))
        return read_run(copy)

    return change
