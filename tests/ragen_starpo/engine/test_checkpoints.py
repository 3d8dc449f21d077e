import random
from random import Random

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM

from ragen_bench.errors import UserError
from ragen_starpo.engine.worker import Critic, Policy
from ragen_starpo.recipes.run_sections import LoraSettings, OptimiserSettings
from tests.ragen_starpo.engine.batches import plain_log_probs, token_batch
from tests.ragen_starpo.engine.conftest import write
from tests.ragen_starpo.files import Planted, assert_one_line, spoil, spoil_json

pytestmark = pytest.mark.slow

SETTINGS = OptimiserSettings(learning_rate=1e-2, warmup_steps=3)


def step(model, seed):
    batch = token_batch(seed)
    return model.update(batch, {}, lambda x, *_: ((x - 0.1).square().sum() / 9, {"m": x.mean()}))


def made(kind, folder, seed=0):
    model = Critic if "critic" in kind else Policy
    lora = LoraSettings(4, 4) if "lora" in kind else None
    return model(folder, SETTINGS, 3, lora, seed=seed)


@pytest.mark.parametrize("kind", ["policy", "critic", "lora", "lora critic"])
def test_resumed_training_is_equal_to_the_bit(tied_dir, tmp_path, kind):
    whole, first = made(kind, tied_dir), made(kind, tied_dir)
    expected = [step(whole, seed) for seed in range(5)]
    found = [step(first, seed) for seed in range(2)]
    first.save_checkpoint(tmp_path / "at" / "2")
    second = made(kind, tied_dir, seed=9)
    second.load_checkpoint(tmp_path / "at" / "2")
    found += [step(second, seed) for seed in range(2, 5)]
    assert found == expected
    assert [one["lr"] for one in found][:4] == pytest.approx([0.0, 1e-2 / 3, 2e-2 / 3, 1e-2])
    one, other = whole._backend.state(), second._backend.state()
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_random_states_come_back(model_dir, tmp_path):
    policy = made("policy", model_dir)
    policy.save_checkpoint(tmp_path / "point")

    def drawn():
        return torch.rand(3).tolist(), np.random.rand(3).tolist(), random.random()

    expected = drawn()
    policy.load_checkpoint(tmp_path / "point")
    assert drawn() == expected


def test_a_folder_without_a_checkpoint_is_told_in_a_line(model_dir, tmp_path):
    with pytest.raises(UserError, match="no checkpoint in") as error:
        made("policy", model_dir).load_checkpoint(tmp_path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("kind", ["lora", "critic", "wider"])
def test_a_checkpoint_of_another_model_is_told_in_a_line(model_dir, tmp_path, kind):
    made("policy", model_dir).save_checkpoint(tmp_path / "point")
    if kind == "wider":
        kind, model_dir = "policy", write(tmp_path / "wide", tied=False, hidden=64)
    with pytest.raises(UserError, match="is not of this model") as error:
        made(kind, model_dir).load_checkpoint(tmp_path / "point")
    assert "\n" not in str(error.value)


def test_a_spoiled_checkpoint_is_read_or_refused_in_a_line(model_dir, tmp_path):
    """A file of a stranger's run: JSON with other values, bytes cut out, another pickle."""
    policy = made("policy", model_dir)
    step(policy, 0)
    point = tmp_path / "point"
    policy.save_checkpoint(point)
    files = {name: (point / name).read_bytes() for name in ("state.json", "tensors.safetensors")}
    for seed in range(150):
        random = Random(seed)
        name = random.choice(list(files))
        how = spoil_json if name == "state.json" else spoil
        (point / name).write_bytes(how(files[name], random))
        assert_one_line(lambda: (policy.load_checkpoint(point), step(policy, 1)), seed)
        (point / name).write_bytes(files[name])
    torch.save(Planted(tmp_path / "ran"), point / "tensors.safetensors")
    torch.save(Planted(tmp_path / "ran"), point / "extra_state_world_size_1_rank_0.pt")
    with pytest.raises(UserError, match="is not of this model and these settings"):
        policy.load_checkpoint(point)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("kind", ["policy", "lora"])
def test_a_saved_model_is_what_was_trained_beside_the_files_it_came_with(
    model_dir, tied_dir, tmp_path, tied, kind
):
    source = tied_dir if tied else model_dir
    policy = made(kind, source)
    for seed in range(3):
        step(policy, seed)
    folder = tmp_path / "saved" / "model"
    for _ in range(2):  # the second replaces the first
        policy.save(folder)
    assert sorted(p.name for p in folder.parent.iterdir()) == ["model"]
    assert {p.name for p in folder.iterdir()} == {p.name for p in source.iterdir()}
    for name in ("tokenizer.json", "generation_config.json"):
        assert (folder / name).read_bytes() == (source / name).read_bytes()
    weights = [load_file(one / "model.safetensors") for one in (folder, source)]
    assert weights[0].keys() == weights[1].keys()
    model = AutoModelForCausalLM.from_pretrained(folder, dtype="auto")
    assert model.dtype == torch.float32
    batch = token_batch()
    with torch.no_grad():
        found = plain_log_probs(model, batch)[0]
    torch.testing.assert_close(found, policy.log_probs(batch)[0], atol=1e-5, rtol=1e-5)
    assert not torch.allclose(found, Policy(source, SETTINGS, 7).log_probs(batch)[0], atol=1e-3)


def test_a_model_in_bfloat16_is_trained_and_saved_in_float32(model_dir, tmp_path):
    half = AutoModelForCausalLM.from_pretrained(model_dir, dtype=torch.bfloat16)
    half.save_pretrained(tmp_path / "half")
    policy = made("policy", tmp_path / "half")
    assert {w.dtype for w in policy.state_for_rollout().values()} == {torch.float32}
    policy.save(tmp_path / "saved")
    saved = AutoModelForCausalLM.from_pretrained(tmp_path / "saved", dtype="auto")
    assert saved.dtype == torch.float32
    assert torch.equal(saved.lm_head.weight, half.lm_head.weight.float())


def test_weights_for_rollouts_do_not_follow_the_next_step(model_dir):
    policy = made("policy", model_dir)
    step(policy, 0)
    state = policy.state_for_rollout()
    kept = {name: weight.clone() for name, weight in state.items()}
    step(policy, 1)
    assert all(torch.equal(kept[name], weight) for name, weight in state.items())
