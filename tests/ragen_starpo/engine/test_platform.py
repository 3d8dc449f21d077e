import os
import subprocess
import sys

import pytest
import torch

from ragen_starpo.engine import platform

pytestmark = pytest.mark.slow

FRESH = """
import logging, os, sys
from pathlib import Path
from ragen_starpo.engine.worker import Critic, Policy
from ragen_starpo.recipes.sections import OptimiserSettings
assert not {"verl", "ray", "transformers.models", "tensordict"} & set(sys.modules)
from tests.ragen_starpo.engine.batches import token_batch
logging.basicConfig(level=logging.INFO)
before, root = dict(os.environ), list(logging.getLogger().handlers)
made = [kind(Path(sys.argv[1]), OptimiserSettings(1e-3), 3) for kind in (Policy, Critic)]
for model in made:
    metrics = model.update(token_batch(), {}, lambda x, *_: (x.square().sum(), {}))
    assert metrics["grad_norm"] > 0
    model.save_checkpoint(Path(sys.argv[2]))
    model.load_checkpoint(Path(sys.argv[2]))
places = ("WORLD_SIZE", "RANK", "MASTER_ADDR", "MASTER_PORT", "VERL_PLATFORM", "VERL_LOGGING_LEVEL")
assert not [name for name in places if os.environ.get(name) != before.get(name)]
assert logging.getLogger().handlers == root
from verl.plugin.platform import PlatformRegistry, get_platform
from ragen_starpo.engine.cpu import CpuPlatform
assert PlatformRegistry.get("cpu") is CpuPlatform and type(get_platform()) is CpuPlatform
"""


@pytest.mark.skipif(torch.cuda.is_available(), reason="of a host without CUDA")
def test_a_fresh_process_trains_without_a_word_and_leaves_its_variables(model_dir, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", FRESH, str(model_dir), str(tmp_path / "point")],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_second_call_changes_nothing():
    group = torch.distributed.group.WORLD
    platform.prepare()
    assert torch.distributed.group.WORLD is group
    assert torch.distributed.get_world_size() == 1


def test_variables_are_taken_back_after_an_error(monkeypatch):
    monkeypatch.setenv("RANK", "7")
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    before = dict(os.environ)

    def fails():
        with platform.environment(platform.ONE_PROCESS):
            assert (os.environ["RANK"], os.environ["WORLD_SIZE"]) == ("0", "1")
            raise ArithmeticError

    with pytest.raises(ArithmeticError):
        fails()
    assert dict(os.environ) == before
