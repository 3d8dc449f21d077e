"""What a missing package is told by, in processes that cannot import it."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

BLOCKED = """
import sys
package, *typed = sys.argv[1:]

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == package:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
from ragen_starpo.cli import main
sys.exit(main(typed))
"""
LOCAL = ("local", "small", "--out", "run")
WARM = ("warm-start", "small", "--out", "warm", "--env", "Bandit-v0")


def typed_without(package, folder, *arguments):
    command = [sys.executable, "-c", BLOCKED, package, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("package", "extra", "arguments"),
    [
        ("torch", "train", ("small-model", "small")),
        ("torch", "train", LOCAL),
        ("wandb", "train", (*LOCAL, "--wandb")),
        ("torch", "train", WARM),
        ("torch", "train", ("verl", "small", "--out", "run")),
        ("pydantic", "train", ("recipes",)),
        ("pydantic", "train", LOCAL),
        ("rich", "train", LOCAL),
        ("rich", "train", ("demo", "--out", "demo")),
        ("rich", "bench", ("report", "run")),
        ("transformers", "train", ("small-model", "small")),
    ],
)
def test_the_extra_is_named_in_one_line(tmp_path, package, extra, arguments):
    code, err = typed_without(package, tmp_path, *arguments)
    assert err.startswith(f"ragen-train: this needs {package}: in a checkout pip install ")
    assert f"'.[{extra}]'" in err
    assert (code, err.count("\n")) == (2, 1)
    assert list(tmp_path.iterdir()) == []


def test_what_needs_no_extra_runs_without(tmp_path):
    code, err = typed_without("torch", tmp_path, "report", "run")
    assert (code, err) == (2, "ragen-train: run is not a training run: it has no recipe.json\n")
    assert typed_without("torch", tmp_path, "recipes", "filter-50@small") == (0, "")


def test_help_imports_no_numpy(tmp_path):
    assert typed_without("numpy", tmp_path, "--help") == (0, "")
