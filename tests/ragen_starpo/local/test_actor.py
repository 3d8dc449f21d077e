"""Who plays: a model with a real tokenizer, which the harness runs by an attention of its own."""

import copy

import pytest
import torch
from transformers import AutoModelForCausalLM

from ragen_bench.models.hf.loading import load
from ragen_starpo.local.actor import Actor
from ragen_starpo.recipes.recipe import recipe_of
from ragen_starpo.rollout.trajectory import batch_of
from tests.ragen_starpo.chats import made
from tests.ragen_starpo.sequences import whole

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def real_chat(random_model, tmp_path_factory):
    """A model as published ones are: in 16 bits."""
    folder = tmp_path_factory.mktemp("chat")
    copy.deepcopy(random_model).bfloat16().save_pretrained(folder)
    made("chatml")[0].tokenizer.save_pretrained(folder)
    return folder


def test_rollouts_of_a_model_that_the_harness_runs_otherwise(real_chat):
    loaded = load(str(real_chat))
    assert (loaded.waves, loaded.model.dtype) == ("", torch.bfloat16)
    exact = AutoModelForCausalLM.from_pretrained(real_chat, dtype=torch.float32)
    settings = {
        "model": str(real_chat),
        "envs": ["Sokoban-v0"],
        "environment": {"actions_per_turn": 2},
        "rollouts": {"instances": 2, "samples": 2, "max_tokens": 3},
    }
    played = Actor(real_chat, recipe_of(settings, "a test")).rollouts(0, 1.0)
    assert [one.group for one in played] == [0, 0, 1, 1]
    for one in played:
        batch = batch_of([one], 0)
        with torch.no_grad():
            logits = exact(torch.tensor([whole(one).ids])).logits[0, :-1]
        following = torch.tensor(whole(one).ids[1:])
        found = torch.log_softmax(logits, -1).gather(1, following[:, None])[:, 0]
        sampled = batch.mask[0, 1:].bool()
        assert float((found[sampled] - batch.log_probs[0, 1:][sampled]).abs().max()) < 1e-4
    keeping, rounds = Actor(real_chat, recipe_of(settings, "a test"), keeps_cache=True), []
    for iteration in (0, 1, 1, 0):
        rounds.append(keeping.rollouts(iteration, 1.0))
    assert rounds[0] == rounds[3] == played
    assert rounds[1] == rounds[2] != played
    kept = keeping._decoder[1]
    keeping.rollouts(0, 1.0)
    assert keeping._decoder[1] is kept
    keeping.rollouts(0, 0.5)
    assert keeping._decoder[1] is not kept
    assert "at most 2 actions" in made("chatml")[0].tokenizer.decode(whole(played[0]).ids)
