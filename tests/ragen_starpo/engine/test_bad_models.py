import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

from ragen_bench.errors import UserError
from ragen_starpo.engine.worker import Critic, Policy, Reference
from ragen_starpo.recipes.run_sections import LoraSettings, OptimiserSettings

pytestmark = pytest.mark.slow

SETTINGS = OptimiserSettings(learning_rate=1e-2)
LOST = "model.layers.1.mlp.up_proj.weight"


def other_shape(folder):
    weights = load_file(folder / "model.safetensors")
    weights[LOST] = torch.zeros(50, 32)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def one_less(folder):
    weights = load_file(folder / "model.safetensors")
    del weights[LOST]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


SPOILT = {
    "gone": (shutil.rmtree, "no model to train in"),
    "config": (lambda f: (f / "config.json").write_text("{"), "no model can be loaded"),
    "no weights": (lambda f: (f / "model.safetensors").unlink(), "no model can be loaded"),
    "truncated": (lambda f: (f / "model.safetensors").write_bytes(b"0" * 99), "no model can be"),
    "shape": (other_shape, rf"other shapes than config.json: {LOST} \(\[50, 32\], not \[48, 32\]"),
    "missing": (one_less, f"weights are missing in .*: {LOST}"),
}


@pytest.mark.parametrize("make", [Policy, Critic, Reference])
@pytest.mark.parametrize("how", SPOILT)
def test_a_folder_that_is_no_whole_model_is_told_in_a_line(
    model_dir, tmp_path, how, make, capfd, caplog
):
    folder = tmp_path / "model"
    shutil.copytree(model_dir, folder)
    spoil, message = SPOILT[how]
    spoil(folder)
    arguments = (folder, 2) if make is Reference else (folder, SETTINGS, 2)
    with pytest.raises(UserError, match=message) as error:
        make(*arguments)
    assert "\n" not in str(error.value)
    assert capfd.readouterr() == ("", "")
    assert not caplog.records


def test_micro_batches_have_a_row(model_dir):
    with pytest.raises(UserError, match="micro_batch_size must be at least 1, got 0"):
        Policy(model_dir, SETTINGS, 0)


def test_adapters_of_layers_that_are_not_there_are_told_in_a_line(model_dir):
    with pytest.raises(UserError, match="no_such_proj") as error:
        Policy(model_dir, SETTINGS, 2, LoraSettings(4, 4, ("no_such_proj",)))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "bad",
    [
        {"learning_rate": 0.0},
        {"learning_rate": float("nan")},
        {"betas": (0.9, 1.0)},
        {"weight_decay": -0.1},
        {"clip_grad": 0.0},
        {"warmup_steps": -1},
    ],
)
def test_settings_out_of_range_are_refused(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        OptimiserSettings(**{"learning_rate": 1e-3, **bad})


@pytest.mark.parametrize("bad", [{"rank": 0}, {"alpha": 0}, {"target_modules": ()}])
def test_adapters_out_of_range_are_refused(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        LoraSettings(**bad)
