"""A fresh process trains on one device without verl and what it brings."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

FRESH = """
import logging, os, sys
from pathlib import Path
from ragen_starpo.engine.worker import Critic, Policy
from ragen_starpo.recipes.run_sections import OptimiserSettings
assert "transformers.models" not in sys.modules
from tests.ragen_starpo.engine.batches import token_batch
logging.basicConfig(level=logging.INFO)
before, root = dict(os.environ), list(logging.getLogger().handlers)
made = [kind(Path(sys.argv[1]), OptimiserSettings(1e-3), 3) for kind in (Policy, Critic)]
for model in made:
    metrics = model.update(token_batch(), {}, lambda x, *_: (x.square().sum(), {}))
    assert metrics["grad_norm"] > 0
    model.save_checkpoint(Path(sys.argv[2]))
    model.load_checkpoint(Path(sys.argv[2]))
assert dict(os.environ) == before
assert logging.getLogger().handlers == root
assert not {"verl", "ray", "tensordict", "pandas", "datasets"} & set(sys.modules)
"""


def test_a_fresh_process_trains_without_a_word_and_leaves_its_variables(model_dir, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", FRESH, str(model_dir), str(tmp_path / "point")],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
