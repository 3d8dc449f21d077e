"""The smoke of a GPU host, on a CPU with a tiny model."""

import json
import re

import gpu_smoke
import gpu_smoke_measures as measures
import pytest
import torch
from gpu_smoke_page import page
from transformers import AutoModelForCausalLM

from ragen_bench.errors import UserError
from ragen_starpo.engine.platform import release

pytestmark = pytest.mark.xdist_group("verl")


@pytest.fixture(scope="module")
def smoked(tmp_path_factory):
    out = tmp_path_factory.mktemp("smoke")
    assert gpu_smoke.main(["--out", str(out), "--shape", "tiny", "--commit", "abc"]) == 0
    yield json.loads((out / "smoke.json").read_text()), (out / "smoke.md").read_text()
    release()


def test_what_is_recorded(smoked):
    found, _ = smoked
    assert found["commit"] == "abc"
    assert found["command"].startswith("gpu_smoke.py --out ")
    assert found["software"]["verl"] == "0.9.1"
    assert len(found["iterations"]) == 3
    for one in found["iterations"]:
        # Trajectories, turns, tokens of an answer; now and then one ends itself.
        assert 130 < one["generated"] <= 4 * 5 * 8
        assert one["positions"] > 5 * one["generated"]
        assert one["longest"] <= one["positions"] / 4 + 20
        assert one["log_probs_apart"] < 1e-4
        assert min(one["rollouts"], one["update"], one["grad_norm"]) > 0
    assert 0.5e-6 < found["moved"] < 1e-5  # three steps of Adam at a rate of 1e-6


def test_the_figures_of_the_page(smoked):
    found, text = smoked
    one = found["iterations"][0]
    row = next(line for line in text.splitlines() if line.startswith("| 0 |"))
    cells = [cell.strip() for cell in row.split("|")[2:-1]]
    assert cells[0] == f"{one['generated'] / one['rollouts']:,.0f}"
    assert cells[1] == f"{one['positions'] / one['update']:,.0f}"
    share = one["training_flops"] / one["update"] / found["matmul"]
    assert float(cells[2].removesuffix(" %")) == pytest.approx(100 * share, abs=0.06)
    assert 0 < share < 1
    assert cells[3] == "-"
    known = page({**found, "peak": 2 * found["matmul"], "memory": 3 << 30})
    row = next(line for line in known.splitlines() if line.startswith("| 0 |"))
    assert float(row.split("|")[5].strip(" %")) == pytest.approx(50 * share, abs=0.06)
    assert "3.0 GiB" in known


def test_parameters_count_the_embedding_once(smoked, tmp_path):
    model = AutoModelForCausalLM.from_pretrained(
        gpu_smoke.made_model(tmp_path, gpu_smoke.SHAPES["tiny"])
    )
    assert smoked[0]["parameters"] == model.num_parameters()


def test_the_shape_is_qwens():
    """Its published size: 494 million parameters, of which 136 million are the embedding."""
    shape = gpu_smoke.SHAPES["qwen2.5-0.5b"]
    kv = shape.width // shape.heads * shape.kv_heads
    attention = 2 * shape.width * shape.width + 2 * shape.width * kv + shape.width + 2 * kv
    layer = attention + 3 * shape.width * shape.hidden + 2 * shape.width
    total = shape.vocabulary * shape.width + shape.layers * layer + shape.width
    assert total == 494_032_768


def test_operations_are_counted_matrix_by_matrix():
    """Of a model without attention's projections, and with, token by token."""
    config = {"num_attention_heads": 4, "hidden_size": 32, "num_hidden_layers": 3}
    attention = torch.tensor([[1, 1, 1, 0], [1, 0, 0, 0]])
    wanted = 0
    for length in (3, 1):
        for _ in range(length):
            wanted += 6 * 1000  # forward 2, backward 4 for each weight
            # Scores and their use: 2 operations for each of both, of each width, of each token.
            wanted += 3 * 3 * (2 + 2) * 32 * length
    assert measures.training_flops(1000, config, attention) == wanted
    wide = {**config, "head_dim": 16}
    assert measures.training_flops(0, wide, attention) == 2 * measures.training_flops(
        0, config, attention
    )


def test_known_peaks():
    assert measures.peak_of("NVIDIA H100 80GB HBM3") == 66.9e12
    assert measures.peak_of("a toaster") is None


def test_the_commit_is_that_of_the_checkout():
    assert re.fullmatch(r"[0-9a-f]{40}(-dirty)?", measures.commit_here())


def test_without_a_gpu_it_says_so(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert gpu_smoke.main(["--out", str(tmp_path / "out"), "--commit", "abc"]) == 2
    assert capsys.readouterr().err == (
        "gpu_smoke: torch finds no GPU here; --shape tiny runs on a CPU\n"
    )
    assert not (tmp_path / "out").exists()


def test_without_git_it_asks_for_the_commit(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UserError, match="give --commit"):
        measures.commit_here()
