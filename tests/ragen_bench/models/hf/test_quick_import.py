"""Imports that commands leave out, in processes of their own."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

IMPORT = """
from ragen_bench.models.hf.quick_import import import_transformers
import_transformers()
import importlib.util, sys, torch
HEAVY = ("boto3", "scipy", "sympy", "torch._dynamo.convert_frame", "torch._inductor")
found = sorted(name for name in HEAVY if name in sys.modules)
assert not found, found
assert importlib.util.find_spec("torch._dynamo").origin
"""
PAUSED = """
import gc
from ragen_bench.models.hf.quick_import import import_transformers, pause_garbage_collection
with pause_garbage_collection():
    assert not gc.isenabled()
    import_transformers()
assert gc.isenabled() and gc.get_freeze_count() > 100_000, gc.get_freeze_count()
gc.unfreeze()
with pause_garbage_collection():
    assert gc.isenabled()
assert not gc.get_freeze_count()
"""
COMPILE = """
import scipy.optimize

layer = torch.compile(torch.nn.Linear(2, 2), backend="eager", fullgraph=True)
optimiser = torch.optim.AdamW(layer.parameters())
layer(torch.ones(1, 2)).sum().backward()
optimiser.step()

import torch._dynamo.utils

assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 1
assert isinstance(layer, torch._dynamo.eval_frame.OptimizedModule)
"""


@pytest.mark.parametrize("rest", ["", COMPILE])
def test_heavy_packages_stay_away_until_they_are_used(rest):
    done = subprocess.run([sys.executable, "-c", IMPORT + rest], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_collector_leaves_a_commands_first_imports_alone():
    done = subprocess.run([sys.executable, "-c", PAUSED], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("needing", ["sklearn", "another"])
def test_packages_that_need_a_hidden_one_can_be_imported(tmp_path, needing):
    (tmp_path / f"{needing}.py").write_text("import boto3, scipy.sparse")
    load = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
from ragen_bench.models.hf import quick_import
import_models = quick_import._import_models
def import_more():
    import_models()
    if {needing!r} != "sklearn":
        import another
quick_import._import_models = import_more
quick_import.import_transformers()
import {needing}, transformers
assert transformers.AutoModelForCausalLM
"""
    done = subprocess.run([sys.executable, "-c", load], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_run_loads_no_compiler(tmp_path):
    run = """
from ragen_starpo.cli import main
assert main(["small-model", "small"]) == 0
settings = ["model=small", "iterations=1", "rollouts.samples=2", "rollouts.max_tokens=4"]
settings += ["mini_batch=2", "validation.instances=1"]
assert main(["local", "small", "--out", "run", *settings]) == 0
import gc, sys
assert "torch._dynamo.convert_frame" not in sys.modules
assert gc.get_freeze_count() > 100_000
"""
    done = subprocess.run(
        [sys.executable, "-c", run], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
