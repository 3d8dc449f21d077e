"""The engine's contract with verl: what is used of it is there, and other versions are refused."""

import importlib.metadata

import pytest
import verl.plugin.platform as verl_platform
from verl.workers.engine_workers import TrainingWorker

from ragen_bench.errors import UserError
from ragen_starpo.cluster.cpu import CpuPlatform
from ragen_starpo.cluster.train import check_version
from tests.ragen_starpo.contract import CLUSTER_SYMBOLS, ENGINE_SYMBOLS, Symbol, changes

pytestmark = pytest.mark.slow


def test_the_installed_verl_has_all_that_is_used():
    assert changes(ENGINE_SYMBOLS) == []
    assert not CpuPlatform.__abstractmethods__


def test_places_are_named_once():
    places = [symbol.place for symbol in (*ENGINE_SYMBOLS, *CLUSTER_SYMBOLS)]
    assert len(set(places)) == len(places)


def renamed(self, batch):
    """A method whose parameter has another name."""


def demanding(self, data, shard):
    """A method that asks for more."""


@pytest.mark.parametrize(
    ("method", "change"), [(renamed, "no longer takes data"), (demanding, "now needs shard")]
)
def test_a_changed_signature_is_seen(monkeypatch, method, change):
    monkeypatch.setattr(TrainingWorker, "train_batch", method)
    place = "verl.workers.engine_workers:TrainingWorker.train_batch"
    assert changes(ENGINE_SYMBOLS) == [f"{place} {change}"]


def test_what_is_gone_is_seen(monkeypatch):
    monkeypatch.delattr(verl_platform, "set_platform")
    monkeypatch.delattr(TrainingWorker, "infer_batch")
    assert changes(ENGINE_SYMBOLS) == [
        "verl.plugin.platform:set_platform is gone",
        "verl.workers.engine_workers:TrainingWorker.infer_batch is gone",
    ]
    assert changes([Symbol("verl.no_such:thing")]) == ["verl.no_such:thing is gone"]


def test_another_version_is_refused_in_a_line(monkeypatch):
    check_version()
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "0.9.2")
    line = r"^verl 0\.9\.2 is installed, and 0\.9\.1 is supported: pip install verl==0\.9\.1$"
    with pytest.raises(UserError, match=line):
        check_version()
