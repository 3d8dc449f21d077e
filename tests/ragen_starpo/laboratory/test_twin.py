"""A seed of the laboratory is what `ragen-train local` computes with its weights and rollouts."""

from collections.abc import Mapping, Sequence
from functools import partial

import pytest
import torch
from torch import Tensor
from transformers import Qwen2Config, Qwen2ForCausalLM

from ragen_envs.core.budget import Budget
from ragen_envs.games.frozen_lake.rules import Slip
from ragen_starpo.algorithms.aggregation import mini_batches
from ragen_starpo.engine.worker import Critic, Policy, Reference
from ragen_starpo.iteration import update_models
from ragen_starpo.laboratory.games.lake import LakeGame
from ragen_starpo.laboratory.learning import Learner, keep_groups
from ragen_starpo.laboratory.model import StackedModel, Weights
from ragen_starpo.laboratory.rollouts import Chances, play
from ragen_starpo.objective import policy_contribution, value_contribution
from ragen_starpo.recipes.recipe import read_recipe
from ragen_starpo.rollout.trajectory import TokenBatch
from ragen_starpo.small_model import Shape

SEEDS, GROUPS, SAMPLES = 3, 4, 6
SHAPE = Shape(width=32, layers=2, heads=2, hidden=64)


def stack_weights(models: Sequence[Mapping[str, Tensor]], layers: int) -> Weights:
    """Return the weights of Qwen2 models, given as the state dictionaries of transformers."""
    one_by_one = [_from_qwen2(state, layers) for state in models]
    return {name: torch.stack([one[name] for one in one_by_one]) for name in one_by_one[0]}


def _from_qwen2(state: Mapping[str, Tensor], layers: int) -> Weights:
    weights = {"embed": state["model.embed_tokens.weight"], "norm": state["model.norm.weight"]}
    for i in range(layers):

        def read(name: str, prefix: str = f"model.layers.{i}") -> Tensor:
            return state[f"{prefix}.{name}"]

        projections = [f"self_attn.{one}_proj" for one in "qkv"]
        weights |= {
            f"norm1.{i}": read("input_layernorm.weight"),
            f"norm2.{i}": read("post_attention_layernorm.weight"),
            f"qkv.{i}": torch.cat([read(f"{name}.weight") for name in projections]).T,
            f"bias.{i}": torch.cat([read(f"{name}.bias") for name in projections]),
            f"out.{i}": read("self_attn.o_proj.weight").T,
            f"up.{i}": torch.cat([read(f"mlp.{one}_proj.weight") for one in ("gate", "up")]).T,
            f"down.{i}": read("mlp.down_proj.weight").T,
        }
    return {name: weight.detach().float().contiguous() for name, weight in weights.items()}


@pytest.fixture(scope="module")
def game():
    return LakeGame(3, Slip(2, 1), Budget(3, 2, 6))


@pytest.fixture(scope="module")
def folders(game, tmp_path_factory):
    made = []
    for seed in range(SEEDS):
        config = Qwen2Config(
            vocab_size=game.vocabulary,
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=2,
            max_position_embeddings=256,
            tie_word_embeddings=True,
        )
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            model = Qwen2ForCausalLM(config)
            for weight in model.parameters():
                weight.data += 0.05 * torch.randn_like(weight)
        folder = tmp_path_factory.mktemp("model")
        model.save_pretrained(folder)
        made.append((folder, model.state_dict()))
    return made


def batch_of_seed(rollouts, kept, seed, settings):
    rows = kept[seed]
    scores = rollouts.rewards[seed][rows].sum(-1).double().view(-1, SAMPLES)
    weights = torch.ones(len(scores))
    if settings.reweight != "none":
        weights = scores.std(1, correction=0) ** (2 if settings.reweight == "variance" else 1)
        weights = weights / weights.mean()
    weights = weights.float().repeat_interleave(SAMPLES)
    mask = rollouts.mask[seed][rows]
    count = len(mask)
    return TokenBatch(
        ids=rollouts.ids[seed][rows],
        attention=(rollouts.ids[seed][rows] != 0).long(),
        mask=mask,
        turns=rollouts.turns[seed][rows],
        log_probs=rollouts.log_probs[seed][rows],
        turn_rewards=rollouts.rewards[seed][rows],
        scores=rollouts.rewards[seed][rows].sum(-1).double(),
        states=rollouts.states[seed][rows],
        groups=rollouts.groups[seed][rows],
        trajectories=torch.arange(count),
        cut=torch.zeros_like(mask),
        void=rollouts.is_void[seed][rows].long(),
        weights=weights,
    )


class LocalModels:
    """The local driver's models, with the gradient of its first step."""

    measures_gap = False

    def __init__(self, policy, reference, critic, batch, loss):
        self.policy, self.reference, self.critic = policy, reference, critic
        self.batch, self.loss = batch, loss
        self.gradients, self.critic_gradients = record_gradients(policy), {}
        if critic:
            self.critic_gradients = record_gradients(critic)

    def values(self):
        return self.critic.values(self.batch) if self.critic else None

    def old_log_probs(self):
        return self.batch.log_probs

    def reference_log_probs(self):
        return self.reference.log_probs(self.batch)[0] if self.reference else None

    def store(self, columns):
        self.columns = columns

    def step(self, rows, weights):
        columns = {name: column[rows] for name, column in self.columns.items()}
        columns["weights"] = weights
        models = {"policy": (self.policy, policy_contribution)}
        if self.critic:
            models["critic"] = self.critic, value_contribution
        return {
            name: model.update(self.batch.rows(rows), columns, partial(contribution, self.loss))
            for name, (model, contribution) in models.items()
        }


def record_gradients(model):
    gradients = {}

    def record(name, gradient):
        gradients[name] = gradients.get(name, 0) + gradient

    for name, weight in model._backend.module.named_parameters():
        weight.register_hook(partial(record, name))
    return gradients


@pytest.mark.parametrize(
    "settings",
    [
        ['advantage.estimator="grpo"'],
        ['advantage.estimator="rloo"', "loss.kl=0.1"],
        ['advantage.estimator="reinforce-plus-plus-baseline"'],
        ['advantage.estimator="reinforce-plus-plus"', 'loss.aggregation="seq-mean-token-mean"'],
        ["advantage.estimator=reinforce-plus-plus-baseline", "filter.strategy=all"],
        [
            'advantage.estimator="gigpo"',
            'advantage.credit="turn"',
            'loss.policy="gspo"',
            "loss.clip_low=0.001",
        ],
        ['advantage.estimator="turn-grpo"', 'advantage.credit="turn"', 'loss.policy="cispo"'],
        ['advantage.estimator="gae"', "advantage.gamma=0.9", "advantage.lam=0.8"],
        ['advantage.estimator="bi-level-gae"', 'advantage.credit="turn"', "loss.value_clip=0.01"],
        ['advantage.estimator="dr-grpo"', 'filter.strategy="all"', "loss.entropy=0.1"],
        ["loss.mask_void_turns=true", "filter.strategy=all", "loss.entropy=0.1"],
        ["filter.reweight=deviation", "filter.strategy=all"],
        ["filter.reweight=variance", "loss.mask_void_turns=true"],
    ],
)
def test_its_gradient_is_that_of_the_local_driver(game, folders, settings):
    recipe = read_recipe("small", [*settings, "mini_batch=64", "filter.amount=0.5"])
    weights = stack_weights([state for _, state in folders], SHAPE.layers)
    model = StackedModel(SHAPE, game.vocabulary)
    noise = torch.Generator().manual_seed(5)
    count = GROUPS * SAMPLES
    bank = game.encode([game.env.get_instance(index) for index in range(32)])
    boards = bank[torch.randint(32, (SEEDS, GROUPS), generator=noise)]
    rollouts = play(
        model,
        weights,
        game,
        boards,
        SAMPLES,
        Chances(
            torch.rand(SEEDS, count, 6, generator=noise),
            torch.rand(SEEDS, count, 3, game.answer_tokens, generator=noise),
        ),
    )
    # Random weights solve nothing: rewards of chance, so that there is something to learn.
    rewards = torch.rand(rollouts.rewards.shape, generator=noise).round(decimals=2)
    rollouts.rewards.copy_(rewards * (rollouts.turns.amax(-1, keepdim=True) >= torch.arange(3)))
    rollouts.is_void.copy_(torch.rand(rollouts.is_void.shape, generator=noise) < 0.3)
    learner = Learner(model, recipe, weights)
    found, found_of_critic, critics = [], [], [None] * SEEDS
    if recipe.has_critic:
        critics = [Critic(folder, recipe.critic, 64) for folder, _ in folders]
        for seed, critic in enumerate(critics):
            learner.critic["value"][seed] = critic._backend.module.score.weight.detach().T
    learner.find_critic_gradients = lambda *rows: (
        found_of_critic.append(Learner.find_critic_gradients(learner, *rows)) or found_of_critic[0]
    )
    learner.find_gradients = lambda *rows: (
        found.append(Learner.find_gradients(learner, *rows)) or found[0]
    )
    kept = keep_groups(recipe, rollouts)
    learner.learn(rollouts, 0, torch.rand(rollouts.mask.shape, generator=noise))
    [(gradients, metrics)] = found
    for seed, (folder, _) in enumerate(folders):
        policy = Policy(folder, recipe.optimiser, 64)
        batch = batch_of_seed(rollouts, kept, seed, recipe.filter)
        reference = Reference(folder, 64) if recipe.loss.kl else None
        local = LocalModels(policy, reference, critics[seed], batch, recipe.loss)
        [step] = list(mini_batches(batch.count, 0, size=64, passes=1, seed=recipe.seed))
        expected_metrics = update_models(
            recipe, 0, batch, [step], local, float(kept[seed].float().mean())
        )
        expected = stack_weights([dict(local.gradients)], SHAPE.layers)
        for name, gradient in gradients.items():
            assert torch.allclose(gradient[seed], expected[name][0], atol=1e-5), name
        assert float(metrics["entropy"][seed]) == pytest.approx(
            expected_metrics["policy/entropy"], abs=1e-4
        )
        if recipe.has_critic:
            [(of_critic, _)] = found_of_critic
            head = local.critic_gradients["score.weight"].T
            assert float(head.abs().max()) > 1e-3
            expected = {
                **stack_weights([local.critic_gradients], SHAPE.layers),
                "value": head[None],
            }
            for name, gradient in of_critic.items():
                assert torch.allclose(gradient[seed], expected[name][0], atol=1e-5), name
