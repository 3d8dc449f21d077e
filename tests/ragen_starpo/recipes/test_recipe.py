"""Recipes: what is taken, and what is refused in one line."""

import pytest

from ragen_bench.errors import UserError
from ragen_starpo.recipes.bounds import BOUNDS
from ragen_starpo.recipes.recipe import read_recipe, recipe_of

GOOD = """
model = "some/folder"
envs = ["Bandit-v0"]
[rollouts]
samples = 4
[optimiser]
learning_rate = 1e-4
betas = [0.9, 0.95]
"""

OWN = ("clip_grad", "warmup_steps", "decay_steps")
"""What the dataclass of an optimiser checks by itself."""


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
    assert recipe.seed == 3
    assert (recipe.rollouts.instances, recipe.rollouts.samples) == (8, 4)
    assert (recipe.filter.strategy, recipe.filter.amount) == ("top-p", 0.9)
    assert recipe.optimiser.betas == (0.9, 0.95)
    assert (recipe.loss.clip.low, recipe.loss.clip.high, recipe.loss.clip.dual) == (0.2, 0.28, 3.0)
    assert recipe.lora is None
    # A quarter of 8 groups of 4 is one mini-batch.
    assert recipe.most_steps == recipe.iterations == 200
    assert read_recipe(written(GOOD), ["lora.rank=8"]).lora.rank == 8
    # Of 8 groups among 3 environments each keeps a quarter of its own, rounded up: 3, 3 and 2.
    envs = ["envs=['a', 'b', 'c']", "filter.amount=0.4", "mini_batch=4"]
    assert read_recipe(written(GOOD), envs).most_steps == 200 * (2 + 2 + 1)
    alone = ["rollouts.samples=1", "filter.strategy=all"]
    assert read_recipe(written(GOOD), alone).rollouts.samples == 1


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("sed=3", "sed: there is no such setting; did you mean seed?"),
        ("filter.share=1", "filter.share: there is no such setting; filter has: strategy, amount"),
        ("lora.rnk=1", "lora.rnk: there is no such setting; did you mean lora.rank?"),
        ("filter.amount=3", "filter.amount is in (0, 1]"),
        ("advantage.estimator=gea", "advantage.estimator: Input should be 'gae'"),
        ("iterations=0", "iterations: is at least 1, got 0"),
        ("iterations=1.5", "iterations: Input should be a valid integer"),
        ("rollouts.temperature=0", "rollouts.temperature: is above 0 and finite, got 0.0"),
        ("rollouts.temperature=inf", "rollouts.temperature: is above 0 and finite, got inf"),
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
        ("envs=[]", "envs: names at least one environment"),
        ("rollouts.samples=1", "filter.strategy: top-k keeps groups whose returns differ, and one"),
        ("advantage.estimator=bi-level-gae", "has each turn's reward at its end; set turn"),
        ("loss.aggregation=seq-mean-token-sum-norm", "loss.horizon: seq-mean-token-sum-norm div"),
        ("loss.horizon=0", "loss.horizon: is at least 1, got 0"),
        ("seed=-1", "seed: is at least 0 and below 2**30, got -1"),
        ("optimiser.learning_rate=fast", "optimiser.learning_rate: Input should be a valid number"),
        ("optimiser.learning_rate=-1", "learning_rate is greater than 0"),
        ("loss.clip_low=1.5", "clip.low is in [0, 1)"),
        ("optimiser.decay_steps=199", "optimiser.decay_steps: the run may take 200 steps"),
        ("seed", "'seed' is no setting; give name=value"),
        ("seed.a=1", "seed: "),
    ],
)
def test_bad_settings(written, override, said):
    with pytest.raises(UserError) as refused:
        read_recipe(written(GOOD), [override])
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_every_number_has_its_bounds():
    settings = flat(recipe_of({"model": "m", "envs": ["Bandit-v0"]}, "a test"))
    assert all(settings[name] is None or isinstance(settings[name], int | float) for name in BOUNDS)
    tables = ("cluster.", "monitor.", "shaping.", "environment.")
    own = {f"{of}.{name}" for of in ("optimiser", "critic") for name in OWN}
    left = {
        name
        for name, value in settings.items()
        if isinstance(value, int | float) and not name.startswith(tables)
    }
    assert left - BOUNDS.keys() - own == {"filter.amount", "loss.clip_low"}


@pytest.mark.parametrize("estimator", ["grpo", "dr-grpo", "rloo"])
def test_whole_returns_have_no_turns(written, estimator):
    settings = [f"advantage.estimator={estimator}", "advantage.credit=turn"]
    with pytest.raises(UserError, match=f"{estimator} compares whole returns"):
        read_recipe(written(GOOD), settings)


def test_bad_files(written, tmp_path):
    with pytest.raises(UserError, match="there is no recipe"):
        read_recipe(tmp_path / "nowhere.toml")
    with pytest.raises(UserError, match="is no TOML file: "):
        read_recipe(written("model = "))
    with pytest.raises(UserError, match="model: Field required"):
        read_recipe(written("envs = ['Bandit-v0']"))
