"""Recipes by name: bases, rows, files that build on others."""

import re
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_bench.errors import UserError
from ragen_starpo.recipes.files import (
    RECIPES,
    as_toml,
    override,
    presets,
    read_settings,
    scales,
    sweeps,
)
from ragen_starpo.recipes.recipe import read_recipe, recipe_of
from ragen_starpo.rollout.episodes import training_pool

DOCS = Path(__file__).parents[3] / "docs" / "recipes.md"
ROWS = {row: group for group, found in sweeps().items() for row in found["rows"]}
NUMBER = r"-(\d+(?:\.\d+)?)$"
SLIP_OF = {"FrozenLake-v0": 2 / 3, "FrozenLakeMild-v0": 0.2}


def flat(recipe):
    found = {}
    settings = asdict(recipe)
    del settings["name"]
    for name, value in settings.items():
        if isinstance(value, dict):
            found |= {f"{name}.{key}": inner for key, inner in value.items()}
        else:
            found[name] = value
    return found


def shared_base(group, scale):
    return read_recipe(scale, sweeps()[group].get("shared", []))


def changed(row, scale="gpu"):
    """Return what a row has otherwise than what its group begins with."""
    ours, base = flat(read_recipe(f"{row}@{scale}")), flat(shared_base(ROWS[row], scale))
    return {name: value for name, value in ours.items() if value != base.get(name)}


def slips(recipe):
    (env,) = recipe.envs
    odds = recipe.environment.slip
    return 2 * odds[1] / (odds[0] + 2 * odds[1]) if odds else SLIP_OF[env]


def pool_of(recipe):
    return training_pool(recipe.envs, recipe.response_format, recipe.environment)


MAY_CHANGE = {
    "task": {"envs"},
    "method": {"advantage.estimator", "filter.strategy", "loss.kl", "loss.clip_high"},
    "preset": {
        *("advantage.estimator", "advantage.credit", "filter.strategy", "filter.amount"),
        *("loss.policy", "loss.sequence", "loss.clip_low", "loss.clip_high", "loss.aggregation"),
        *("loss.kl", "loss.kl_estimator", "loss.entropy"),
        *("shaping.overlong_buffer", "shaping.format_penalty", "rollouts.refills"),
    },
    "loss": {"loss.policy", "loss.settings"},
    "estimator": {"advantage.estimator", "advantage.credit"},
    "filter": {"filter.amount", "filter.strategy"},
    "kl": {"loss.kl"},
    "clip": {"loss.clip_high"},
    "responses": {"rollouts.samples", "rollouts.instances"},
    "actions": {"environment.actions_per_turn"},
    "online": {"updates"},
    "online-equal": {"updates", "iterations"},
    "online-wide": {"rollouts.instances", "iterations"},
    "think": {"response_format"},
    "lora": {
        *("lora.rank", "lora.alpha", "lora.target_modules", "lora.critic"),
        *("optimiser.learning_rate", "critic.learning_rate"),
    },
    "ragen-2": {
        *("iterations", "rollouts.max_tokens", "rollouts.context"),
        "environment.actions_per_turn",
    },
    "task-2": {"envs", "environment.slip"},
    "main": {"advantage.estimator", "loss.aggregation"},
    "kl-sweep": {"loss.kl"},
    "entropy-sweep": {"loss.entropy"},
    "snr": {"filter.strategy", "filter.amount", "filter.slack"},
    "mass": {"filter.amount"},
    "slip": {"environment.slip", "envs"},
}
SAID_BY = {
    "filter": lambda r: 100 if r.filter.strategy == "all" else round(100 * r.filter.amount),
    "responses": lambda r: r.rollouts.samples,
    "actions": lambda r: r.environment.actions_per_turn,
    "online": lambda r: r.updates,
    "online-equal": lambda r: r.updates,
    "online-wide": lambda r: r.rollouts.instances / 8,
    "kl-sweep": lambda r: r.loss.kl,
    "entropy-sweep": lambda r: r.loss.entropy,
    "mass": lambda r: round(100 * r.filter.amount),
    "slip": lambda r: round(100 * slips(r)),
}
"""What the number in a row's name is."""
NUMBERS = {
    row: float(found[1]) for row in ROWS if (found := re.search(NUMBER, row)) and row != "ragen-2"
}


@pytest.mark.parametrize("scale", scales())
def test_every_row_is_a_recipe_that_differs_in_what_its_group_is_about(scale):
    read_recipe(scale)
    for row, group in ROWS.items():
        assert changed(row, scale).keys() <= MAY_CHANGE[group], row
    assert MAY_CHANGE.keys() == sweeps().keys()


@pytest.mark.parametrize("row", NUMBERS)
def test_the_number_in_a_name_is_the_setting(row):
    recipe = read_recipe(f"{row}@gpu")
    assert NUMBERS[row] == SAID_BY[ROWS[row]](recipe)
    prompts = NUMBERS[row] if ROWS[row] == "online-wide" else 1
    assert recipe.rollouts.samples * recipe.rollouts.instances == 128 * prompts


def test_the_rows_of_the_papers():
    numbers = {}
    for row, number in NUMBERS.items():
        numbers.setdefault(ROWS[row], []).append(number)
    assert numbers["responses"] == [1, 2, 4, 8, 16, 32]
    assert numbers["actions"] == [1, 2, 3, 4, 5, 6, 7]
    assert numbers["online"] == [1, 2, 5, 10]
    assert numbers["online-equal"] == numbers["online-wide"] == [1, 2, 5, 10]
    assert numbers["filter"] == [25, 50, 75, 100]
    assert [read_recipe(f"{row}@gpu").loss.kl for row in ("kl-on", "kl-off")] == [0.001, 0]
    losses = [read_recipe(f"{row}@gpu").loss for row in ("clip-higher", "clip-symmetric")]
    assert [(loss.clip_low, loss.clip_high) for loss in losses] == [(0.2, 0.28), (0.2, 0.2)]
    assert read_recipe("no-think@gpu").response_format == "answer"
    vanilla = read_recipe("starpo-grpo@gpu")
    assert (vanilla.advantage.estimator, vanilla.filter.strategy) == ("grpo", "all")
    assert (vanilla.loss.kl, vanilla.loss.kl_estimator, vanilla.loss.clip_high) == (
        0.001,
        "k1",
        0.2,
    )
    filters = [read_recipe(f"snr-{name}@gpu").filter for name in ("top-p", "softmax", "top-k")]
    assert [(one.strategy, one.amount) for one in filters] == [
        ("top-p", 0.9),
        ("top-p-softmax", 0.9),
        ("top-k", 0.25),
    ]
    assert filters[0].slack == 0.01
    assert read_recipe("bi-level-gae@gpu").advantage.credit == "turn"


def test_the_rows_of_ragen_2():
    for sweep in ("kl-sweep", "entropy-sweep"):
        values = [number for row, number in NUMBERS.items() if ROWS[row] == sweep]
        assert values == [0, 0.001, 0.003, 0.01, 0.03, 0.1]
    for row in ("kl-0.03", "entropy-0.03"):
        recipe = read_recipe(f"{row}@gpu")
        assert (recipe.loss.kl, recipe.loss.entropy, recipe.filter.strategy) == (
            *((0.03, 0) if row == "kl-0.03" else (0, 0.03)),
            "all",
        )
    mains = [read_recipe(f"ragen-2+main-{name}@gpu-3b") for name in ("ppo", "grpo", "dr-grpo")]
    assert [one.loss.aggregation for one in mains] == [
        *("token-mean", "seq-mean-token-mean", "seq-mean-token-sum"),
    ]
    for one in mains:
        assert (one.filter.strategy, one.filter.amount) == ("top-p-softmax", 0.9)
        assert (one.iterations, one.rollouts.max_tokens, one.rollouts.context) == (400, 400, 3600)
        assert (one.environment.actions_per_turn, one.loss.kl, one.loss.entropy) == (2, 0, 0.001)
    assert slips(read_recipe("frozen-lake-coord-still@gpu")) == 0


@pytest.mark.parametrize("scale", scales())
def test_rows_of_online_k_take_as_many_steps(scale):
    of_passes = {read_recipe(f"online-equal-{k}@{scale}").max_steps for k in (1, 2, 5, 10)}
    assert len(of_passes) == 1
    if scale != "cluster":  # which has 64 prompts and steps of 256 trajectories
        of_prompts = {read_recipe(f"online-wide-{k}@{scale}").max_steps for k in (1, 2, 5, 10)}
        assert of_prompts == of_passes == {200}


def test_presets_are_named_after_what_they_set():
    recipes = {name: read_recipe(f"{name}@gpu") for name in sweeps()["preset"]["rows"]}
    assert flat(recipes["starpo"]) == flat(read_recipe("starpo-ppo@gpu"))
    assert flat(recipes["starpo-s"]) == flat(read_recipe("starpo-s-ppo@gpu"))
    assert {name: recipes[name].advantage.estimator for name in recipes} == {
        **{"starpo": "gae", "starpo-s": "gae", "dapo": "grpo", "gspo": "grpo"},
        **{"gigpo": "gigpo", "sampo": "gigpo"},
    }
    clips = {name: (one.loss.clip_low, one.loss.clip_high) for name, one in recipes.items()}
    assert clips == {
        **{"starpo": (0.2, 0.2), "starpo-s": (0.2, 0.28), "dapo": (0.2, 0.28)},
        **{"gspo": (3e-4, 4e-4), "gigpo": (0.2, 0.2), "sampo": (3e-3, 4e-3)},
    }
    policies = {name for name, one in recipes.items() if one.loss.policy == "gspo"}
    assert policies == {"gspo", "sampo"}
    assert {row: read_recipe(f"{row}@gpu").loss.policy for row in sweeps()["loss"]["rows"]} == {
        row: row for row in ("cispo", "clip-cov", "kl-cov")
    }


def test_adapters_of_the_paper():
    recipe = read_recipe("lora@gpu")
    assert (recipe.lora.rank, recipe.lora.alpha, recipe.lora.target_modules) == (
        *(64, 64),
        "all-linear",
    )
    plain = read_recipe("gpu")
    assert recipe.optimiser.learning_rate == pytest.approx(10 * plain.optimiser.learning_rate)
    assert recipe.critic.learning_rate == pytest.approx(10 * plain.critic.learning_rate)
    assert recipe.critic_lora == recipe.lora
    assert flat(read_recipe("lora@gpu-3b")) == flat(read_recipe("gpu-3b"))


def test_no_two_rows_of_a_group_are_the_same():
    for group, found in sweeps().items():
        recipes = [flat(read_recipe(f"{row}@gpu")) for row in found["rows"]]
        assert all(one != other for i, one in enumerate(recipes) for other in recipes[:i]), group


def test_the_bases_are_the_papers_batch():
    for scale in ("small", "gpu"):
        recipe = read_recipe(scale)
        assert (recipe.rollouts.instances, recipe.rollouts.samples) == (8, 16)
        assert (recipe.mini_batch, recipe.updates, recipe.rollouts.temperature) == (32, 1, 1.0)
        assert (recipe.loss.clip_low, recipe.loss.clip_high, recipe.loss.kl) == (0.2, 0.28, 0)
        assert (recipe.advantage.gamma, recipe.advantage.lam) == (1, 1)
        assert (recipe.filter.strategy, recipe.filter.amount) == ("top-k", 0.25)
    assert read_recipe("small").cluster.device == "auto"
    thinking, small = flat(read_recipe("small-think")), flat(read_recipe("small"))
    apart = {name: value for name, value in thinking.items() if value != small[name]}
    assert apart == {"response_format": "think", "rollouts.max_tokens": 40}
    alone, many = read_recipe("gpu"), read_recipe("cluster")
    assert (alone.cluster.engine, alone.cluster.device, alone.cluster.processes) == (
        "vllm",
        "gpu",
        1,
    )
    assert many.cluster.processes == 8
    assert many.rollouts.instances / alone.rollouts.instances == 8
    assert many.mini_batch / alone.mini_batch == 8
    assert many.model == alone.model
    larger = read_recipe("gpu-3b")
    assert (larger.rollouts.instances, larger.mini_batch, larger.cluster.processes) == (8, 32, 1)


@pytest.mark.parametrize("scale", scales())
def test_every_row_names_environments_that_can_be_made(scale):
    for row in ROWS:
        pool_of(read_recipe(f"{row}@{scale}"))


@pytest.mark.parametrize("name", presets())
def test_a_recipe_that_stands_for_itself(name):
    pool_of(read_recipe(name))
    with pytest.raises(UserError, match=f"unknown scale '{name}'"):
        read_recipe(f"grpo@{name}")


def test_rows_add_up_in_their_order():
    both = read_recipe("slip-50+filter-100@small")
    assert (both.filter.strategy, both.environment.slip) == ("all", (2, 1))
    assert read_recipe("filter-50+grpo@small", ["filter.amount=0.3"]).filter.amount == 0.3
    assert flat(read_recipe("grpo+filter-50@small")) == flat(read_recipe("filter-50+grpo@small"))
    assert flat(read_recipe("filter-100+filter-50@small")) != flat(read_recipe("filter-50@small"))


def test_a_file_builds_on_a_row_or_on_a_file_beside_it(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "mine.toml").write_text('base = "filter-50@small"\nseed = 7\n[filter]\neps = 0.01')
    (tmp_path / "deep/more.toml").write_text('base = "../mine.toml"\n[rollouts]\nsamples = 4')
    found = flat(read_recipe(tmp_path / "deep/more.toml"))
    base = flat(read_recipe("filter-50@small"))
    new = {"seed": 7, "filter.eps": 0.01, "rollouts.samples": 4}
    assert found == {**base, **new}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("smal", "there is no recipe smal; did you mean small?"),
        ("demo-frozenlake", "no recipe demo-frozenlake; did you mean demo-frozen-lake?"),
        ("grpo", "there is no recipe grpo; did you mean grpo@small?"),
        (
            "zzz",
            "there is no recipe zzz; give a TOML file, or one that `ragen-train recipes` lists",
        ),
        ("filter-50@smal", "unknown scale 'smal'; did you mean small?"),
        ("fliter-50@small", "unknown row 'fliter-50'; did you mean filter-50?"),
        ("@small", "unknown row ''"),
        ("filter-50+@small", "unknown row ''"),
        ("nowhere/r.toml", "there is no recipe nowhere/r.toml"),
        ("sweeps", "there is no recipe sweeps"),
    ],
)
def test_mistyped_names(name, said):
    with pytest.raises(UserError) as refused:
        read_recipe(name)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_bases_that_cannot_be(tmp_path):
    loop = tmp_path / "loop.toml"
    loop.write_text('base = "loop.toml"')
    with pytest.raises(UserError, match=r"loop.toml builds on itself"):
        read_recipe(loop)
    loop.write_text("base = 3")
    with pytest.raises(UserError, match="base: is the name of a recipe, got 3"):
        read_recipe(loop)
    loop.write_text('base = "other.toml"')
    with pytest.raises(UserError, match=r"there is no recipe .*other.toml"):
        read_recipe(loop)


@pytest.mark.parametrize("name", ["small", "cluster", "smollm2-lora", "slip-5@gpu"])
def test_what_is_printed_is_the_recipe(name, tmp_path):
    file = tmp_path / "printed.toml"
    mixed = "mixture={shares={Bandit-v0=2}, normalise='scales', scales={Bandit-v0=0.5}}"
    changes = ["model='ü\"\\\\'", "optimiser.clip_grad=inf", "envs=['Bandit-v0']", mixed]
    file.write_text(as_toml(read_recipe(name, changes).as_json()), encoding="utf-8")
    assert read_recipe(file) == read_recipe(name, changes)


names = st.lists(st.sampled_from(sorted(ROWS)), min_size=1, max_size=3)


@given(names, st.sampled_from(scales()))
def test_rows_are_what_is_typed_on_the_command_line(rows, scale):
    typed = read_settings(scale)
    for row in rows:
        group = sweeps()[ROWS[row]]
        for change in (*group.get("shared", []), *group["rows"][row]):
            override(typed, change)
    name = f"{'+'.join(rows)}@{scale}"
    expected = recipe_or_reason(lambda: recipe_of(typed, "typed"))
    assert recipe_or_reason(lambda: read_recipe(name)) == expected


def recipe_or_reason(made):
    """Rows such as responses-1 and mass-100 cannot be together."""
    try:
        return made()
    except UserError as refused:
        return str(refused).partition(": ")[2]


def test_the_docs_examples_are_recipes(tmp_path):
    blocks = re.findall(r"```toml\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 3
    for block in blocks:
        base = "" if "base =" in block else 'base = "frozen-lake@small"\n'
        (tmp_path / "r.toml").write_text(base + block)
        assert read_recipe(tmp_path / "r.toml") != read_recipe("small")


def test_the_files_are_in_the_package():
    named = (*scales(), *presets(), "sweeps")
    assert {path.stem for path in RECIPES.rglob("*.toml")} == set(named)
    assert len(set(named)) == len(named)
