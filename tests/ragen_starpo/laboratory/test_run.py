"""Runs of an arm are reproducible and independent of each other."""

import collections

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from ragen_bench.errors import UserError
from ragen_starpo.laboratory import learning, run, warm_start
from ragen_starpo.laboratory.games import find_game
from ragen_starpo.laboratory.model import StackedModel
from ragen_starpo.laboratory.rollouts import Chances, play, replace_groups
from ragen_starpo.laboratory.warm_start import WarmStart
from ragen_starpo.studies.definition import Task

TASK = Task("lake", 3, slip=0.1, groups=3, samples=4, skill=0.5)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(run, "TRAIN", 50)
    monkeypatch.setattr(run, "TEST", 32)
    monkeypatch.setattr(run, "WarmStart", lambda skill: WarmStart(skill, steps=10, batch=8))


def train(settings=(), *, warm_starts=(0, 1), seeds=(0, 1), cache=None, iterations=2, **more):
    return run.run_arm(
        more.pop("task", TASK),
        settings,
        iterations=iterations,
        warm_starts=warm_starts,
        seeds=seeds,
        device="cpu",
        cache=cache,
        **more,
    )


def test_an_arm_that_was_killed_is_repeated_to_the_byte(tmp_path):
    class KilledError(Exception):
        pass

    def kill(_):
        raise KilledError

    with pytest.raises(KilledError):
        train(cache=tmp_path, on_runs=kill)
    repeated, fresh = train(cache=tmp_path), train()
    assert repeated.test.tobytes() == fresh.test.tobytes()
    assert repeated.start.tobytes() == fresh.start.tobytes()
    for name, curve in fresh.curves.items():
        assert repeated.curves[name].tobytes() == curve.tobytes(), name


def test_warm_starts_made_together_are_those_made_alone():
    game = find_game(TASK)
    model, boards = StackedModel(run.SHAPE, game.vocabulary), game.load(50)

    def make(numbers):
        first, noise = (
            [torch.Generator().manual_seed(10 * purpose + number) for number in numbers]
            for purpose in (0, 1)
        )
        weights = model.make_weights(first)
        warm_start.warm_start(WarmStart(0.5, steps=3, batch=2), model, weights, game, boards, noise)
        return weights

    together = make([1, 2, 3])
    for row, number in enumerate([1, 2, 3]):
        for name, alone in make([number]).items():
            assert torch.allclose(together[name][row], alone[0], atol=1e-5), name


def test_warm_starts_are_read_for_equal_facts_alone(tmp_path, monkeypatch):
    def list_files():
        train(warm_starts=[0], seeds=[0], iterations=1, cache=tmp_path)
        return {file.name: file.stat().st_mtime_ns for file in tmp_path.iterdir()}

    before = list_files()
    [name] = before
    assert list_files() == before
    for module, fact, value in (
        (warm_start, "LABORATORY", -1),
        (run, "TRAIN", 60),
        (run, "WarmStart", lambda skill: WarmStart(skill, steps=10, batch=9)),
    ):
        monkeypatch.setattr(module, fact, value)
        now = list_files()
        assert len(now) == len(before) + 1, fact
        before = now
    assert "-cpu-" in name


@pytest.mark.parametrize("content", [b"", b"no weights", b"\x08" + bytes(20)])
def test_a_damaged_warm_start_is_one_line(tmp_path, content):
    train(warm_starts=[0], seeds=[0], iterations=1, cache=tmp_path)
    [file] = tmp_path.iterdir()
    file.write_bytes(content)
    with pytest.raises(UserError, match="remove it, and run it again"):
        train(warm_starts=[0], seeds=[0], iterations=1, cache=tmp_path)


@pytest.mark.parametrize("settings", [(), ("rollouts.refills=2",), ("loss.policy=clip-cov",)])
def test_a_run_does_not_depend_on_those_beside_it(settings, monkeypatch):
    monkeypatch.setattr(run, "_TOGETHER", 6)
    together = train(settings, warm_starts=(0, 1, 2), seeds=(0, 1))
    monkeypatch.setattr(run, "_TOGETHER", 4)
    apart = train(settings, warm_starts=(0, 1, 2), seeds=(0, 1))
    assert set(together.curves) == set(apart.curves)
    for name, curve in together.curves.items():
        assert np.allclose(curve, apart.curves[name], atol=1e-5, rtol=1e-5, equal_nan=True), name
    assert np.array_equal(together.test, apart.test)


def test_arms_play_the_same_instances_with_the_same_chances():
    """The first rollouts of two arms are those of one policy, so they are equal."""
    one = train(iterations=1)
    other = train(["advantage.estimator=rloo", "loss.clip_high=0.5"], iterations=1)
    assert np.array_equal(one.start, other.start)
    for name in ("success", "reward_deviation", "rollout_tokens"):
        assert np.array_equal(one.curves[name], other.curves[name]), name
    assert not np.array_equal(one.curves["grad_norm"], other.curves["grad_norm"])
    assert len({float(value) for value in one.curves["rollout_tokens"][:, 0]}) > 1


class CountingMode(TorchDispatchMode):
    """Counts the operations that a device would be sent, by kind."""

    def __init__(self):
        super().__init__()
        self.found = collections.Counter()

    def __torch_dispatch__(self, function, types, arguments=(), named=None):
        self.found[str(function)] += 1
        return function(*arguments, **(named or {}))


@pytest.mark.parametrize(
    "settings",
    [
        ("loss.kl=0.1", "filter.reweight=variance"),
        ("advantage.estimator=bi-level-gae", "advantage.credit=turn"),
        ("advantage.estimator=gigpo", "advantage.credit=turn", "loss.policy=clip-cov"),
        ("loss.policy=gspo", "loss.sequence=turn", "loss.aggregation=seq-mean-token-mean"),
        ("loss.policy=kl-cov", "advantage.estimator=reinforce-plus-plus"),
    ],
)
def test_the_number_of_operations_does_not_grow_with_that_of_seeds(settings, monkeypatch):
    """Of equal seeds in equal steps; a GPU is sent one operation after the other."""
    monkeypatch.setattr(learning, "keep_groups", lambda _, one: torch.ones_like(one.success))
    monkeypatch.setattr(
        *(learning, "steps_of"),
        lambda _, kept, *rest: [(torch.arange(kept.shape[1]).expand_as(kept), kept)],
    )
    game, recipe = find_game(TASK), run.read_arm(settings)
    model = StackedModel(run.SHAPE, game.vocabulary)
    weights = model.make_weights([torch.Generator().manual_seed(0)])
    noise = torch.Generator().manual_seed(1)
    boards = game.load(TASK.groups)[None]
    count = TASK.groups * TASK.samples
    tokens = torch.rand(1, count, game.budget.max_turns, game.answer_tokens, generator=noise)
    chances = torch.rand(1, count, game.noise_count, generator=noise)
    counts = []
    for seeds in (2, 2, 3, 5):

        def stack(one, seeds=seeds):
            return one.repeat(seeds, *[1] * (one.dim() - 1))

        stacked = {name: stack(one) for name, one in weights.items()}
        with CountingMode() as counter:
            drawn = Chances(stack(chances), stack(tokens))
            rollouts = play(model, stacked, game, stack(boards), TASK.samples, drawn)
            learner = learning.Learner(model, recipe, stacked)
            learner.learn(rollouts, 0, torch.rand(rollouts.mask.shape, generator=noise))
        counts.append(counter.found)
    assert counts[1].total() > 1000
    # The first pass made tables that later ones share.
    assert counts[1] == counts[2] == counts[3]


def test_further_prompts_replace_groups_whose_returns_do_not_differ(tmp_path):
    drop = ["filter.strategy=top-p", "filter.amount=1.0"]
    plain, refilled = (
        train([*drop, f"rollouts.refills={rounds}"], cache=tmp_path, iterations=1).curves
        for rounds in (0, 3)
    )
    # Success is that of the first prompts, since others are chosen by their returns.
    assert np.array_equal(plain["success"], refilled["success"])
    is_replaced = refilled["replaced"] > 0
    assert is_replaced.any()
    assert np.array_equal(is_replaced, plain["kept"] < 1)
    assert (refilled["kept"] >= plain["kept"]).all()
    assert refilled["kept"].mean() > plain["kept"].mean()
    more = refilled["rollout_tokens"] - plain["rollout_tokens"]
    assert np.array_equal(more > 0, is_replaced)


def test_a_replaced_group_is_one_of_the_further_rollouts():
    game = find_game(TASK)
    model = StackedModel(run.SHAPE, game.vocabulary)
    noise = torch.Generator().manual_seed(0)
    weights = model.make_weights([noise, noise])

    def play_some(groups):
        boards = game.load(2 * groups).view(2, groups, -1)
        drawn = Chances(
            torch.rand(2, groups * 2, game.noise_count, generator=noise),
            torch.rand(2, groups * 2, 3, game.answer_tokens, generator=noise),
        )
        return play(model, weights, game, boards, 2, drawn)

    rollouts, further = play_some(3), play_some(2)
    flat = torch.tensor([[False, True, True], [True, False, False]])
    chosen = replace_groups(rollouts, further, flat)
    sources = [
        [(rollouts, 0), (further, 0), (further, 1)],
        [(further, 0), *[(rollouts, n) for n in (1, 2)]],
    ]
    for seed, groups in enumerate(sources):
        for number, (source, place) in enumerate(groups):
            for sample in range(2):
                row, origin = 2 * number + sample, 2 * place + sample
                for name in ("ids", "mask", "turns", "log_probs"):
                    found, expected = getattr(chosen, name), getattr(source, name)
                    width = expected.shape[2]
                    assert torch.equal(found[seed, row, :width], expected[seed, origin]), name
                    assert not found[seed, row, width:].any()
                assert torch.equal(chosen.rewards[seed, row], source.rewards[seed, origin])
                assert chosen.is_void[seed, row] == source.is_void[seed, origin]
                expected = source.states[seed, origin] % (1 << 32)
                expected += chosen.groups[seed, row] * (1 << 32)
                before = source.states[seed, origin]
                assert torch.equal(chosen.states[seed, row], torch.where(before < 0, -1, expected))
    assert torch.equal(chosen.groups, rollouts.groups)


def test_runs_without_a_step_have_no_metrics_of_losses(monkeypatch):
    monkeypatch.setattr(run, "_TOGETHER", 1)
    task = Task("lake", 3, groups=1, samples=2, skill=0.5)
    settings = ["filter.strategy=top-p", "filter.amount=1.0"]
    curves = train(settings, task=task, warm_starts=range(8), seeds=[0], iterations=1).curves
    is_trained = curves["kept"] > 0
    assert 0 < is_trained.sum() < 8
    assert np.array_equal(np.isnan(curves["entropy"]), ~is_trained)


TURN = "advantage.credit=turn"
ARMS = [
    ["advantage.estimator=gae"],
    ["advantage.estimator=gae", "advantage.lam=0.9", TURN, "updates=2"],
    ["advantage.estimator=bi-level-gae", TURN],
    ["advantage.estimator=hybrid"],
    ["advantage.estimator=gigpo", TURN],
    ["advantage.estimator=turn-grpo", TURN],
    ["advantage.estimator=reinforce-plus-plus"],
    ["advantage.estimator=dr-grpo", "loss.aggregation=seq-mean-token-sum-norm", "loss.horizon=9"],
    ["loss.policy=gspo", "loss.clip_low=0.001", "updates=4", "mini_batch=6"],
    ["loss.policy=gspo", "loss.sequence=turn", "updates=2"],
    ["loss.policy=cispo", "updates=2"],
    ["loss.policy=clip-cov", "updates=2"],
    ["loss.policy=kl-cov", "updates=2"],
    ["loss.kl=0.1", "updates=4", "mini_batch=6"],
    ["loss.kl=0.01", "loss.kl_ratio=true", "loss.kl_estimator=k3"],
    ["filter.strategy=top-k", "filter.groups=1"],
    ["filter.strategy=top-p", "filter.amount=0.9", "filter.loss_scale=sqrt"],
    ["filter.strategy=min-p", "filter.amount=0.9", "advantage.estimator=gae"],
    ["optimiser.warmup_steps=2", "rollouts.temperature=0.8"],
    ["rollouts.refills=2", "filter.strategy=top-p", "filter.amount=1.0"],
    ["loss.mask_void_turns=true", "filter.reweight=deviation"],
]


@pytest.mark.parametrize("settings", ARMS, ids=" ".join)
def test_an_arm_trains(settings, tmp_path_factory):
    cache = tmp_path_factory.getbasetemp() / "laboratory-warm-starts"
    result = train(settings, warm_starts=(0, 1), seeds=(0,), cache=cache)
    curves = result.curves
    trained = curves["kept"] > 0
    assert trained.any()
    for name in ("grad_norm", "entropy", "kl_from_rollouts"):
        assert np.isfinite(curves[name][trained]).all(), name
        assert np.isnan(curves[name][~trained]).all(), name
    assert (curves["grad_norm"][trained] > 0).all()
    if "gae" in settings[0] or "gae" in settings[-1] or "hybrid" in settings[0]:
        assert (curves["critic_grad_norm"][trained] > 0).all()
    if "loss.kl=0.1" in settings:
        assert (curves["kl_from_reference"] != 0).any()
    if "filter.strategy=top-k" in settings:
        assert curves["kept"].max() == pytest.approx(1 / 3)
