"""Recipes: what is taken, and what is refused in one line."""

import math
from collections import Counter
from contextlib import nullcontext
from dataclasses import is_dataclass
from typing import get_args, get_origin, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_bench.errors import UserError
from ragen_starpo.recipes.recipe import Recipe, read_recipe, recipe_of
from ragen_starpo.recipes.sections import RolloutSettings

GOOD = """
model = "some/folder"
envs = ["Bandit-v0"]
[rollouts]
samples = 4
[optimiser]
learning_rate = 1e-4
betas = [0.9, 0.95]
"""


def flat(recipe):
    return {
        f"{name}.{inner}" if isinstance(value, dict) else name: found
        for name, value in recipe.as_json().items()
        for inner, found in (value.items() if isinstance(value, dict) else [(name, value)])
    }


@pytest.fixture
def written(tmp_path):
    def write(text):
        file = tmp_path / "r.toml"
        file.write_text(text)
        return file

    return write


def test_settings_and_defaults(written):
    recipe = read_recipe(written(GOOD), ["seed=3", "filter.strategy=top-p", "filter.amount=0.9"])
    assert (recipe.name, recipe.seed) == ("r", 3)
    assert read_recipe(written(GOOD), ["name=again"]).name == "again"
    assert (recipe.rollouts.instances, recipe.rollouts.samples) == (8, 4)
    assert (recipe.filter.strategy, recipe.filter.amount) == ("top-p", 0.9)
    assert recipe.optimiser.betas == (0.9, 0.95)
    loss = recipe.loss
    assert (loss.clip_low, loss.clip_high, loss.dual_clip) == (0.2, 0.28, 3.0)
    assert recipe.lora is None
    # A quarter of 8 groups of 4 is one mini-batch.
    assert recipe.max_steps == recipe.iterations == 200
    adapted = read_recipe(written(GOOD), ["lora.rank=8"])
    assert (adapted.lora.rank, adapted.critic_lora) == (8, None)
    assert read_recipe(written(GOOD), ["lora.critic=true"]).critic_lora.rank == 64
    # Of 8 groups among 3 environments each keeps a quarter of its own, rounded up: 3, 3 and 2.
    envs = ["envs=['a', 'b', 'c']", "filter.amount=0.4", "mini_batch=4"]
    assert read_recipe(written(GOOD), envs).max_steps == 200 * (2 + 2 + 1)
    alone = ["rollouts.samples=1", "filter.strategy=all"]
    assert read_recipe(written(GOOD), alone).rollouts.samples == 1


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("sed=3", "sed: there is no such setting; did you mean seed?"),
        ("filter.part=1", "filter.part: there is no such setting; filter has: strategy, amount"),
        ("rank=8", "rank: there is no such setting; did you mean lora.rank?"),
        (
            "learning_rate=1e-4",
            "did you mean optimiser.learning_rate or critic.learning_rate?",
        ),
        ("lr=1", "did you mean optimiser.learning_rate or critic.learning_rate?"),
        ("optimiser.lr=1", "no such setting; did you mean optimiser.learning_rate?"),
        ("lora=true", "lora: is a table of settings, as lora.NAME=VALUE, got True"),
        ("envs=Bandit", """envs: is a list, in a shell 'envs=["A", "B"]' with its quotes, got"""),
        ("environment.slip=0.5", "'environment.slip=[1, 2]' with its quotes, got 0.5"),
        ("lora.rnk=1", "lora.rnk: there is no such setting; did you mean lora.rank?"),
        ("filter.amount=3", "filter.amount: is above 0 and at most 1, got 3.0"),
        ("advantage.estimator=gea", "advantage.estimator: unknown estimator 'gea'; did you"),
        ("advantage.settings.x=1", "advantage: settings.x: gae has no settings of its own"),
        ("advantage={estimator='grpo', settings={eps='a'}}", "advantage: settings.eps: Input"),
        ("iterations=0", "iterations: is at least 1, got 0"),
        ("iterations=1.5", "iterations: Input should be a valid integer"),
        ("rollouts.temperature=0", "rollouts.temperature: is above 0 and finite, got 0.0"),
        ("rollouts.temperature=inf", "rollouts.temperature: is above 0 and finite, got inf"),
        ("rollouts.history=-1", "rollouts.history: is full, none or a number of turns, got -1"),
        ("rollouts.history=all", "rollouts.history: is full, none or a number of turns, got 'all'"),
        ("rollouts.history=1.5", "rollouts.history: is full, none or a number of turns, got 1.5"),
        ("rollouts.history=true", "rollouts.history: is full, none or a number of turns, got Tru"),
        ("rollouts.context=0", "rollouts.context: is at least 1, got 0"),
        ("validation.temperature=-1", "validation.temperature: is at least 0 and finite, got -1"),
        ("validation.every=-1", "validation.every: is at least 0, which is never, got -1"),
        ("validation.instances=0", "validation.instances: is from 1 to 256, got 0"),
        ("validation.instances=257", "validation.instances: is from 1 to 256, got 257"),
        ("checkpoint_every=-3", "checkpoint_every: is at least 0, got -3"),
        ("loss.value_clip=-1", "loss.value_clip: is above 0 and finite, got -1.0"),
        ("loss.kl=-1", "loss.kl: is at least 0 and finite, got -1.0"),
        ("loss.entropy=nan", "loss.entropy: is finite, got nan"),
        ("loss.dual_clip=nan", "loss.dual_clip: is above 1 and finite, got nan"),
        ("loss.clip_high=nan", "loss.clip_high: is at least 0 and finite, got nan"),
        ("filter.eps=nan", "filter.eps: is at least 0 and finite, got nan"),
        ("advantage.gamma=7", "advantage.gamma: is from 0 to 1, got 7.0"),
        ("advantage.lam=-2", "advantage.lam: is from 0 to 1, got -2.0"),
        ("advantage.gamma_turn=1.5", "advantage.gamma_turn: is from 0 to 1, got 1.5"),
        ("optimiser.learning_rate=inf", "optimiser.learning_rate: is above 0 and finite, got inf"),
        ("optimiser.weight_decay=inf", "optimiser.weight_decay: is at least 0 and finite, got inf"),
        ("envs=[]", "envs: name at least one environment"),
        ("rollouts.samples=1", "filter.strategy: top-k compares the returns of a group, which nee"),
        ("advantage.estimator=bi-level-gae", "bi-level-gae needs each turn's reward; set turn"),
        ("advantage.estimator=gigpo", "gigpo needs each turn's reward; set turn"),
        ("rollouts.refills=-1", "rollouts.refills: is at least 0, got -1"),
        ("filter.reweight=softly", "filter.reweight: Input should be 'none', 'deviation' or 'var"),
        ("loss.aggregation=seq-mean-token-sum-norm", "loss.horizon: seq-mean-token-sum-norm div"),
        ("loss.policy=gpso", "loss.policy: unknown loss 'gpso'; did you mean gspo?"),
        ("loss.sequence=turn", "loss.sequence: ppo compares tokens, not sequences; remove it"),
        ("loss.sequence=word", "loss.sequence: Input should be 'trajectory' or 'turn'"),
        ("loss={policy='cispo', dual_clip=2}", "loss.dual_clip: cispo has no dual clip; remove"),
        (
            "correction.reject=turn",
            "correction.reject: Input should be 'none', 'token'",
        ),
        ("correction.reject_high=3", "correction: reject_low and reject_high are bounds of a reje"),
        ("correction={reject='token', reject_low=0}", "reject_low: is above 0 and at most 1, got"),
        ("correction={reject='token', reject_high=0.9}", "reject_high: is at least 1 and finite"),
        ("loss.horizon=0", "loss.horizon: is at least 1, got 0"),
        ("seed=-1", "seed: is at least 0 and below 2**30, got -1"),
        ("optimiser.learning_rate=fast", "optimiser.learning_rate: Input should be a valid number"),
        ("optimiser.learning_rate=-1", "optimiser.learning_rate: is above 0 and finite, got -1.0"),
        ("loss.clip_low=1.5", "loss.clip_low: is at least 0 and below 1, got 1.5"),
        ("loss.dual_clip=1", "loss.dual_clip: is above 1 and finite, got 1.0"),
        ("optimiser.betas=[0.9, 1]", "optimiser.betas.1: is at least 0 and below 1, got 1.0"),
        ("monitor.fall=1", "monitor.fall: is above 0 and below 1, got 1.0"),
        ("cluster.memory=1", "cluster.memory: is above 0 and below 1, got 1.0"),
        ("lora.rank=0", "lora.rank: is at least 1, got 0"),
        ("shaping.turn_cost=inf", "shaping.turn_cost: is at least 0 and finite, got inf"),
        ("optimiser.decay_steps=199", "optimiser.decay_steps: the run may take 200 steps"),
        ("diagnostics.thoughts=-1", "diagnostics.thoughts: is at least 0, got -1"),
        ("diagnostics.thoughts=1", "diagnostics: thoughts must be 0 or at least 2, since the esti"),
        ("seed", "'seed' is not a setting; give name=value"),
        ("seed.a=1", "seed: "),
        ("mixture.shares.Bandit-v0=0", "mixture.shares.Bandit-v0: is from 1 to 100, got 0"),
        ("mixture.shares.Bandit-v0=1.5", "mixture.shares.Bandit-v0: Input should be a valid int"),
        (
            "mixture.shares.Sokoban-v0=2",
            "mixture.shares: Sokoban-v0 is not in the recipe's envs: Bandit-v0",
        ),
        ("mixture.scales.Bandit-v0=2", "mixture: scales are what normalise=scales divides by"),
        ("mixture.normalise=scales", "mixture: scales are what normalise=scales divides by"),
        (
            "mixture={normalise='scales', scales={Lake=2}}",
            "mixture.scales: Lake is not in the recipe's envs: Bandit-v0",
        ),
        (
            "mixture.normalise=deviation",
            "deviation needs a baseline of each group, which gae",
        ),
        ("envs=['Bandit-v0', 'Sokoban-v0', 'ragen/Bandit-v0']", "envs: Bandit-v0 occurs 2 times"),
    ],
)
def test_bad_settings(written, override, said):
    with pytest.raises(UserError) as refused:
        read_recipe(written(GOOD), [override])
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_trajectory_of_several_rows_has_no_ratio(written):
    settings = ["loss.policy=gspo", "rollouts.history=2"]
    with pytest.raises(UserError, match=r"loss.sequence: with a limited history a trajectory is"):
        read_recipe(written(GOOD), settings)
    assert read_recipe(written(GOOD), [*settings, "loss.sequence=turn"]).loss.sequence == "turn"


@pytest.mark.parametrize(
    ("estimator", "credit", "fits"),
    [
        ("grpo", "trajectory", True),
        ("dr-grpo", "trajectory", True),
        ("rloo", "trajectory", True),
        ("reinforce-plus-plus", "trajectory", False),
        ("gae", "turn", False),
        ("bi-level-gae", "turn", False),
    ],
)
def test_returns_are_divided_by_their_deviation_where_a_baseline_is_taken_off(
    written, estimator, credit, fits
):
    asked = [
        "mixture.normalise=deviation",
        f"advantage={{estimator='{estimator}', credit='{credit}'}}",
    ]
    with nullcontext() if fits else pytest.raises(UserError, match="set normalise=scales"):
        read_recipe(written(GOOD), asked)
    alone = [*asked, "rollouts.samples=1", "filter.strategy=all"]
    with pytest.raises(UserError, match="deviation needs a baseline"):
        read_recipe(written(GOOD), alone)


def numbers(settings, table=""):
    """Yield the names of a recipe's numbers, also of those that may be None."""
    for name, hint in get_type_hints(settings).items():
        inner = [hint, *get_args(hint)]
        section = next((kind for kind in inner if is_dataclass(kind)), None)
        if section:
            yield from numbers(section, f"{name}.")
        elif int in inner or float in inner:
            # A table by environment has numbers of one kind.
            entry = ".Bandit-v0" if get_origin(hint) is dict else ""
            yield table + name + entry, float if float in inner else int


@pytest.mark.parametrize(("name", "kind"), [*numbers(Recipe)])
def test_every_number_has_its_bounds(written, name, kind):
    """Nothing that is wrong in any place is taken, and the line names the setting."""
    wrong = "nan" if kind is float else "-1"
    value = {"optimiser.betas": "[nan, 0]", "critic.betas": "[nan, 0]"}.get(name, wrong)
    value = "[-1, 1]" if name == "environment.slip" else value
    section = name.rpartition(".")[0] if name == "environment.slip" else name
    settings = ["critic.learning_rate=1e-5", f"{name}={value}"]
    with pytest.raises(UserError, match=rf"^on the command line: {section}(\.0)?: ") as refused:
        read_recipe(written(GOOD), settings)
    assert "Input should be" not in str(refused.value)


@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=4),
    st.integers(0, 9),
    st.integers(1, 30),
    st.sampled_from([0.3, 0.5, 1.0]),
)
def test_the_max_steps_are_those_of_all_iterations(shares, more, iterations, amount):
    """Against the instances of each iteration, dealt out one by one."""
    envs = [f"{n}" for n in range(len(shares))]
    size = len(envs) + more
    settings = {
        "mixture": {"shares": dict(zip(envs, shares, strict=True))},
        "rollouts": {"instances": size, "samples": 3},
        "filter": {"amount": amount},
        "iterations": iterations,
        "updates": 2,
        "mini_batch": 4,
    }
    recipe = recipe_of({"model": "m", "envs": envs, **settings}, "a test")
    dealt = recipe.env_cycle * (size * iterations)
    wanted = 0
    for number in range(iterations):
        counts = Counter(dealt[number * size : (number + 1) * size])
        learned = 3 * sum(recipe.filter.max_groups(count) for count in counts.values())
        wanted += 2 * math.ceil(learned / 4)
    assert recipe.max_steps == wanted


def test_a_recipe_in_code_is_checked_as_a_file_is():
    with pytest.raises(
        ValueError, match=r"rollouts\.instances: 8 is fewer than the 9 environments"
    ):
        Recipe("m", ("Bandit-v0",) * 9)
    with pytest.raises(ValueError, match="greater than or equal to 1"):
        RolloutSettings(samples=0)


@pytest.mark.parametrize(("given", "history"), [("full", None), ("none", 0), ("0", 0), ("3", 3)])
def test_a_history_is_that_of_the_harness(written, given, history):
    recipe = read_recipe(written(GOOD), [f"rollouts.history={given}"])
    assert recipe.rollouts.history == history
    assert recipe_of(recipe.as_json(), "a test") == recipe


@pytest.mark.parametrize("estimator", ["grpo", "dr-grpo", "rloo"])
def test_whole_returns_have_no_turns(written, estimator):
    settings = [f"advantage.estimator={estimator}", "advantage.credit=turn"]
    with pytest.raises(UserError, match=f"{estimator} compares whole returns"):
        read_recipe(written(GOOD), settings)


@pytest.mark.parametrize("form", ["answer", "plain"])
def test_a_form_without_thoughts_has_none_to_score(written, form):
    settings = ["diagnostics.thoughts=8", f"response_format={form}"]
    with pytest.raises(UserError, match=f"thoughts: the format '{form}' has no thoughts"):
        read_recipe(written(GOOD), settings)


def test_one_rollout_alone_has_no_thoughts_to_compare(written):
    settings = ["response_format=think", "filter.strategy=all", "diagnostics.thoughts=2"]
    one = [*settings, "rollouts.instances=1", "rollouts.samples=1"]
    with pytest.raises(UserError, match=r"diagnostics.thoughts: thoughts are compared") as refused:
        read_recipe(written(GOOD), one)
    assert "\n" not in str(refused.value)
    for more in ("rollouts.instances=2", "rollouts.samples=2"):
        assert read_recipe(written(GOOD), [*one, more]).diagnostics.thoughts == 2


def test_bad_files(written, tmp_path):
    with pytest.raises(UserError, match="there is no recipe"):
        read_recipe(tmp_path / "nowhere.toml")
    with pytest.raises(UserError, match="is not a TOML file: "):
        read_recipe(written("model = "))
    with pytest.raises(UserError, match="model: Field required"):
        read_recipe(written("envs = ['Bandit-v0']"))
