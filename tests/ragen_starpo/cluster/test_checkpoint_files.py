"""Checkpoints of `verl` that may be a stranger's: read as data, or refused in a line."""

from dataclasses import replace
from random import Random
from types import SimpleNamespace

import pytest
import torch
from torch.testing import assert_close

from ragen_bench.errors import UserError
from ragen_starpo.algorithms.aggregation import token_weights
from ragen_starpo.cluster import ahead
from ragen_starpo.cluster.learner import QueuedRollouts
from ragen_starpo.recipes.run_sections import LoraSettings
from tests.ragen_starpo.engine.batches import columns, token_batch
from tests.ragen_starpo.engine.conftest import tied_dir  # noqa: F401
from tests.ragen_starpo.engine.test_policy import SETTINGS, TEMPERATURE, loss_of_rows
from tests.ragen_starpo.files import Planted, assert_one_line, spoil, spoil_json
from tests.ragen_starpo.verl_process import VerlModel

from .test_agent_loop import Server, played  # noqa: F401

pytestmark = pytest.mark.slow


def step(model):
    batch = token_batch()
    weights = {**columns(batch), "weights": token_weights(batch.mask, "token-mean")}
    return model.update(batch, weights, loss_of_rows, TEMPERATURE)


@pytest.mark.parametrize("lora", [None, LoraSettings(4, 12)])
def test_files_of_verl_are_read_as_data(tied_dir, tmp_path, lora):  # noqa: F811
    model, point = VerlModel("language_model", tied_dir, SETTINGS, 3, lora, seed=1), tmp_path / "p"
    step(model)
    model.worker.save_checkpoint(str(point))
    drawn = torch.rand(3)
    expected = step(model)
    model.worker.load_checkpoint(str(point))
    assert torch.equal(torch.rand(3), drawn)
    assert_close(step(model), expected, rtol=0, atol=0)
    for file in sorted(point.glob("*.pt")):
        content, ran = file.read_bytes(), tmp_path / f"ran {file.name}"
        torch.save({"lr_scheduler": None, "rng": Planted(ran)}, file)
        with pytest.raises(UserError, match="names code, which is not run") as refused:
            model.worker.load_checkpoint(str(point))
        assert "\n" not in str(refused.value)
        assert not ran.exists()
        for seed in range(20):
            file.write_bytes(spoil(content, Random(seed)))
            assert_one_line(lambda: model.worker.load_checkpoint(str(point)), seed)
        file.unlink()
        with pytest.raises(UserError, match=f"there is no file .*{file.name}; choose another"):
            model.worker.load_checkpoint(str(point))
        file.write_bytes(content)


def test_rollouts_played_ahead_are_json(played, tmp_path, monkeypatch):  # noqa: F811
    _, one = played(Server(), 0)
    turn = one.turns[0]
    moved = [replace(turn, state=("a", 1)), replace(turn, state=("b",)), replace(turn, reward=0.1)]
    other = replace(one, turns=(*moved, moved[0]), split=True, weight=0.3)
    rows = SimpleNamespace(keys=[f"u_1_{part}" for part in range(4)])
    put, file = [], tmp_path / "ahead.json"
    monkeypatch.setattr(ahead.tq, "kv_batch_put", lambda **given: put.append(given))
    ahead.write_rollouts(file, QueuedRollouts([one, other], [other], "an error", rows, replaced=2))
    found = ahead.read_rollouts(file)
    states = [turn.state for turn in found.played[1].turns]
    assert states == [states[0], states[1], states[2], states[0]]
    assert len(set(states)) == 3
    unnumbered = [
        [replace(turn, state=None) for turn in each.turns] for each in (*found.played, other)
    ]
    assert unnumbered[1] == unnumbered[2]
    assert found.played[0].record == one.record
    assert found.played[1].weight == 0.3
    assert found.kept == [found.played[1]]
    assert (found.error, found.replaced, found.rows.keys) == ("an error", 2, rows.keys)
    (given,) = put
    assert [row.tolist() for row in given["fields"]["input_ids"]] == [
        sequence.ids for sequence in other.sequences
    ]
    text = file.read_bytes()
    for seed in range(200):
        file.write_bytes(spoil_json(text, Random(seed)))
        assert_one_line(lambda: ahead.read_rollouts(file), seed)
    torch.save(Planted(tmp_path / "ran"), file)
    with pytest.raises(UserError, match="does not hold rollouts"):
        ahead.read_rollouts(file)
    assert not (tmp_path / "ran").exists()
