import pytest
import verl.plugin.platform as verl_platform
from verl.workers.engine_workers import TrainingWorker

from ragen_bench.errors import UserError
from ragen_starpo.engine import contract
from ragen_starpo.engine.cpu import CpuPlatform


def test_the_installed_verl_has_all_that_is_used():
    assert list(contract.changes()) == []
    contract.check()
    contract.check_platform(CpuPlatform)


def test_places_are_named_once():
    places = [symbol.place for symbol in contract.SYMBOLS]
    assert len(set(places)) == len(places)


def renamed(self, batch):
    """A method whose parameter has another name."""


def demanding(self, data, shard):
    """A method that asks for more."""


@pytest.mark.parametrize(
    ("method", "change"), [(renamed, "no longer takes data"), (demanding, "now needs shard")]
)
def test_a_changed_signature_is_told_with_its_place(monkeypatch, method, change):
    monkeypatch.setattr(TrainingWorker, "train_batch", method)
    place = "verl.workers.engine_workers:TrainingWorker.train_batch"
    assert list(contract.changes()) == [f"{place} {change}"]
    with pytest.raises(UserError, match=rf"0\.9\.1 does: {place} {change}; pip install"):
        contract.check()


def test_what_is_gone_is_told_with_its_place(monkeypatch):
    monkeypatch.delattr(verl_platform, "set_platform")
    monkeypatch.delattr(TrainingWorker, "infer_batch")
    assert list(contract.changes()) == [
        "verl.plugin.platform:set_platform is gone",
        "verl.workers.engine_workers:TrainingWorker.infer_batch is gone",
    ]


def test_a_module_that_is_gone_is_told_with_its_place(monkeypatch):
    monkeypatch.setattr(contract, "SYMBOLS", (contract.Symbol("verl.no_such:thing"),))
    assert list(contract.changes()) == ["verl.no_such:thing is gone"]


def test_a_platform_that_lacks_an_answer_is_told(monkeypatch):
    monkeypatch.setattr(CpuPlatform, "__abstractmethods__", frozenset({"fuse"}))
    with pytest.raises(UserError, match="PlatformBase asks for fuse"):
        contract.check_platform(CpuPlatform)
