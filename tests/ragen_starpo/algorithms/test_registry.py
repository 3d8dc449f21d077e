"""Algorithms of other packages, found by their entry points in a process of their own."""

import json
import os
import subprocess
import sys

import pytest

import ragen_starpo
from ragen_starpo.algorithms.registry import ESTIMATORS, estimator
from ragen_starpo.recipes.sections import AdvantageSettings, FilterSettings, LossSettings

pytestmark = pytest.mark.slow

ALGORITHMS = """
import torch
from torch import Tensor
from ragen_starpo import estimator, filter, loss

@estimator("scaled-returns", whole_returns=True)
def scaled_returns(scores: Tensor, mask: Tensor, factor: float = 1.0) -> Tensor:
    print("factor", factor)
    return factor * scores[:, None] * mask

@loss("reinforce")
def reinforce(log_probs: Tensor, advantages: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
    return -advantages * log_probs, {"largest": advantages.max()}

@filter("first", compares_returns=False, limit=lambda count: 1)
def first(scores: Tensor) -> Tensor:
    return torch.arange(len(scores)) == 0
"""
RECIPE = """
model = "small"
envs = ["Bandit-v0"]
response_format = "answer"
iterations = 1

[rollouts]
instances = 2
samples = 2
max_tokens = 4

[validation]
every = 0

[advantage]
estimator = "scaled-returns"
settings = { factor = 3 }

[loss]
policy = "reinforce"
dual_clip = 2

[filter]
strategy = "first"
"""
TRAIN = """
import sys
from pathlib import Path
from ragen_starpo import read_recipe, train
recipe = read_recipe("recipe.toml")
print(recipe.max_steps)
train(recipe, Path(sys.argv[1]), Path("run"))
"""


def install(folder, name, module, text=None):
    """Write a distribution that names a module in the group, and the module unless it is None."""
    metadata = folder / f"{name}-1.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text(f"[ragen_starpo.algorithms]\n{name} = {module}\n")
    if text is not None:
        (folder / f"{module}.py").write_text(text)


def run_python(folder, packages, code, *arguments):
    path = os.pathsep.join([str(packages), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )


def test_an_installed_package_adds_an_estimator_a_loss_and_a_filter(small, tmp_path):
    packages = tmp_path / "packages"
    install(packages, "more-algorithms", "more_algorithms", ALGORITHMS)
    (tmp_path / "recipe.toml").write_text(RECIPE)
    done = run_python(tmp_path, packages, TRAIN, str(small))
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:2] == ["1", "factor 3"]
    metrics = json.loads((tmp_path / "run/metrics.jsonl").read_text())
    assert metrics["filter/kept"] == 0.5
    assert "policy/largest" in metrics
    assert "policy/clip_fraction" not in metrics
    settings = json.loads((tmp_path / "run/recipe.json").read_text())
    assert settings["advantage"]["settings"] == {"factor": 3}
    assert settings["loss"]["policy"] == "reinforce"


def test_a_broken_package_is_reported_in_one_line_and_left_out(tmp_path):
    packages = tmp_path / "packages"
    install(packages, "broken", "not_there")
    install(packages, "more-algorithms", "more_algorithms", ALGORITHMS)
    code = "from ragen_starpo.algorithms.registry import LOSSES; print(LOSSES.names()[::5])"
    done = run_python(tmp_path, packages, code)
    assert (done.returncode, done.stdout) == (0, "['ppo', 'reinforce']\n")
    assert done.stderr == (
        "the algorithms of not_there cannot be loaded: ModuleNotFoundError: No module named "
        "'not_there'; mend or uninstall that package\n"
    )


def test_a_name_is_registered_once():
    assert ESTIMATORS.names()
    with pytest.raises(ValueError, match=r"the estimator 'grpo' of .* is registered already, by"):
        estimator("grpo")(lambda scores: scores)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: AdvantageSettings("gae", settings={"a": 1}), "settings.a: gae has no settings"),
        (lambda: AdvantageSettings("grpo", settings={"a": 1}), "grpo has normalize_std, eps"),
        (lambda: AdvantageSettings("grpo", settings={"eps": "a"}), "settings.eps: Input should be"),
        (lambda: FilterSettings("top-j"), "unknown filter strategy 'top-j'; did you mean top-"),
        (lambda: LossSettings(policy="p"), "unknown loss 'p'"),
    ],
)
def test_wrong_names_and_settings_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_the_package_exports_its_names_without_loading_torch(tmp_path):
    assert all(hasattr(ragen_starpo, name) for name in ragen_starpo.__all__)
    code = "import sys, ragen_starpo; print('torch' in sys.modules, 'pydantic' in sys.modules)"
    assert run_python(tmp_path, tmp_path, code).stdout == "False False\n"
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        ragen_starpo.nothing  # noqa: B018
