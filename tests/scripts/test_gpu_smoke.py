"""The smoke of a GPU host, on a CPU with tiny models."""

import json
import re
from pathlib import Path

import gpu_smoke
import gpu_smoke_measures as measures
import gpu_smoke_run
import gpu_smoke_stages as stages
import pytest
import torch
from gpu_smoke_page import BEGIN, END, section
from transformers import AutoModelForCausalLM

from ragen_bench.errors import UserError
from ragen_starpo.warm_start import Epoch

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("verl")]

PAGE = f"before\n{BEGIN}\nolder\n{END}\nafter\n"


def here(command, seconds, log):
    """Run a stage in this process, which has imported all of it already."""
    log.write_text("")
    stages.main(command)


@pytest.fixture(scope="module")
def smoked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("smoke")
    page = folder / "page.md"
    page.write_text(PAGE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gpu_smoke, "run_in_subprocess", here)
        given = ["--out", str(folder / "out"), "--scale", "tiny", "--commit", "abc"]
        assert gpu_smoke.main([*given, "--page", str(page), "--minutes", "60"]) == 0
    return json.loads((folder / "out/gpu.json").read_text()), page.read_text()


def test_what_is_recorded(smoked):
    found, _ = smoked
    assert found["commit"] == "abc"
    assert found["command"].startswith("gpu_smoke.py --out ")
    assert list(found["stages"]) == ["device", "float32", "bfloat16", "training"]
    for stage in found["stages"].values():
        assert stage["seconds"] > 0
        assert not {"failed", "cut"} & stage.keys()
    looked = found["stages"]["device"]
    assert looked["software"]["verl"] == "0.9.1"
    assert min(looked["matmul"].values()) > 1e8


def test_iterations(smoked):
    gaps = {}
    for dtype in ("float32", "bfloat16"):
        figures = smoked[0]["stages"][dtype]
        assert len(figures["iterations"]) == 1
        for one in figures["iterations"]:
            # Trajectories, turns, tokens of an answer; now and then one ends itself.
            assert 60 < one["generated"] <= 2 * 5 * 8
            assert one["positions"] > 5 * one["generated"]
            assert one["longest"] <= one["positions"] / 2 + 20
            assert min(one["rollouts"], one["update"], one["grad_norm"]) > 0
            assert one["gap_mean"] < one["gap_max"]
        gaps[dtype] = max(one["gap_max"] for one in figures["iterations"])
        assert 0.5e-6 < figures["moved"] < 5e-6  # a step of Adam at a rate of 1e-6
    assert 0 < gaps["float32"] < 1e-4 < gaps["bfloat16"] < 0.1


def test_ways_to_compute_an_update(smoked):
    ways = smoked[0]["stages"]["bfloat16"]["ways"]
    assert list(ways) == ["2 trajectories", "8,192 tokens"]
    norms = [way["grad_norm"] for way in ways.values()]
    assert norms == pytest.approx([norms[0]] * 2, rel=0.02)


def test_training(smoked):
    figures = smoked[0]["stages"]["training"]
    assert [epoch["number"] for epoch in figures["epochs"]] == [1]
    assert figures["epochs"][0]["loss"] > 0
    assert len(figures["iterations"]) == 2
    for one in figures["iterations"]:
        assert one["generated"] > 4
        assert 0 <= one["held_out"] <= 1
    assert 0 <= figures["start"] <= 1


def test_the_figures_of_the_page(smoked):
    found, text = smoked
    assert text.startswith(f"before\n{BEGIN}\n## X86_64 CPU")
    assert text.endswith(f"\n{END}\nafter\n")
    assert "older" not in text
    assert text.partition(BEGIN + "\n")[2].partition(END)[0] == section(found)
    one = found["stages"]["float32"]["iterations"][0]
    cells = cells_of(text, "| 0 |")
    assert cells[0] == f"{one['generated'] / one['rollouts']:,.0f}"
    assert cells[1] == f"{one['positions'] / one['update']:,.0f}"
    speed = found["stages"]["device"]["matmul"]["float32"]
    share = one["training_flops"] / one["update"] / speed
    assert float(cells[2].removesuffix(" %")) == pytest.approx(100 * share, abs=0.06)
    assert 0 < share < 1
    assert cells[3:6] == ["-", f"{one['gap_mean']:.1e}", f"{one['gap_max']:.1e}"]
    known = json.loads(json.dumps(found))
    known["stages"]["device"]["peak"] = {"float32": 2 * speed, "bfloat16": 1.0}
    known["stages"]["float32"]["iterations"][0]["memory"] = 3 << 30
    cells = cells_of(section(known), "| 0 |")
    assert float(cells[3].removesuffix(" %")) == pytest.approx(50 * share, abs=0.06)
    assert cells[6] == "3.0 GiB"


def cells_of(text, start):
    row = next(line for line in text.splitlines() if line.startswith(start))
    return [cell.strip() for cell in row.split("|")[2:-1]]


@pytest.fixture
def staged(monkeypatch, tmp_path):
    """Runs the command with stages that are given, and returns the record and the page."""

    def run(work, minutes="60"):
        monkeypatch.setattr(gpu_smoke, "run_in_subprocess", work)
        given = ["--out", str(tmp_path / "out"), "--scale", "tiny", "--commit", "abc"]
        assert gpu_smoke.main([*given, "--minutes", minutes]) == 0
        out = tmp_path / "out"
        return json.loads((out / "gpu.json").read_text())["stages"], (out / "gpu.md").read_text()

    return run


def test_a_stage_that_fails_is_told_in_a_line_and_the_next_one_begins(staged):
    def broken(command, seconds, log):
        return None if command[0] == "training" else f"ended with 1: {command[0]} broke"

    found, text = staged(broken)
    assert [stage.get("failed") for stage in found.values()] == [
        *(f"ended with 1: {name} broke" for name in ("device", "float32", "bfloat16")),
        None,
    ]
    assert "### Float32\n\nThe stage did not end well after 0 s: `ended with 1: float32 br" in text


def test_without_time_no_stage_begins(staged):
    found, text = staged(lambda *_: pytest.fail("a stage began"), "1e-9")
    assert {stage["failed"] for stage in found.values()} == {"no time was left"}
    assert "did not end well: `no time was left`" in text


def test_a_stage_whose_time_is_up_keeps_what_it_has(tmp_path, monkeypatch):
    written = []

    def work(stage):
        for number in range(3):
            stage.found.update(parameters=number, iterations=[])
            stage.check_time()

    def later():
        written.append(json.loads((tmp_path / "out/gpu.json").read_text()))
        return 100.0 if len(written) == 2 else 1.0

    (tmp_path / "out").mkdir()
    begun = {"command": "c", "commit": "abc", "stages": {}}
    (tmp_path / "out/gpu.json").write_text(json.dumps(begun))
    monkeypatch.setitem(stages.WORK, "float32", work)
    monkeypatch.setattr(stages.time, "time", later)
    folders = ["--out", str(tmp_path / "out"), "--work", str(tmp_path)]
    assert stages.main(["float32", *folders, "--scale", "tiny", "--until", "50"]) == 0
    assert [now["stages"]["float32"]["parameters"] for now in written] == [0, 1]
    last = json.loads((tmp_path / "out/gpu.json").read_text())
    assert last["stages"]["float32"] == {"parameters": 1, "iterations": [], "cut": True}
    assert (tmp_path / "out/gpu.md").read_text().endswith("The time of this stage was up.\n")
    last["stages"]["float32"]["seconds"] = 51.4
    assert "The time of this stage was up after 51 s.\n" in section(last)


@pytest.mark.parametrize("success", [None, 0.25])
def test_a_warm_start_that_is_cut_leaves_its_best_model_or_the_first(
    tmp_path, monkeypatch, success
):
    begun = []

    def cut(settings, start, warm, on_epoch):
        if success is not None:
            warm.mkdir()
        on_epoch(Epoch(1, 2.0, success))

    monkeypatch.setattr(stages, "make_small_model", lambda *_: 7)
    monkeypatch.setattr(stages, "warm_start", cut)
    monkeypatch.setattr(stages, "train", lambda recipe, model, *_: begun.append((recipe, model)))
    found = {}
    stages.trained(stages.Stage("tiny", None, tmp_path, 0.0, found, lambda: None))
    ((recipe, model),) = begun
    assert model == tmp_path / ("small" if success is None else "warm")
    assert recipe.model == str(model)
    text = section({"command": "c", "commit": "abc", "stages": {"training": found}})
    which = "the start model" if success is None else "the best model so far"
    assert f"The time of the warm start was up; reinforcement learning began with {which}" in text


@pytest.mark.parametrize(
    ("code", "seconds", "said"),
    [
        ("pass", 60, None),
        ("import sys; print('x'); sys.exit(3)", 60, "ended with 3: x"),
        ("raise MemoryError('of the GPU')", 60, "ended with 1: MemoryError: of the GPU"),
        ("import time; time.sleep(60)", 0.3, "stopped after 0 s"),
    ],
)
def test_a_stage_is_a_process_of_its_own(tmp_path, monkeypatch, code, seconds, said):
    program = tmp_path / "stage.py"
    program.write_text(code)
    monkeypatch.setattr(gpu_smoke, "STAGES", program)
    assert gpu_smoke.run_in_subprocess([], seconds, tmp_path / "log") == said


def test_figures_of_elsewhere_are_put_into_a_page(tmp_path, smoked):
    (tmp_path / "out").mkdir()
    (tmp_path / "out/gpu.json").write_text(json.dumps(smoked[0]))
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    given = ["--out", str(tmp_path / "out"), "--minutes", "0", "--page", str(page)]
    assert gpu_smoke.main(given) == 0
    assert page.read_text() == smoked[1]


def test_the_page_of_the_docs_has_a_place_for_figures():
    text = (Path(__file__).parents[2] / "docs/results/gpu.md").read_text()
    assert (text.count(BEGIN), text.count(END)) == (1, 1)


def test_parameters_count_the_embedding_once(smoked, tmp_path):
    gpu_smoke_run.made_model(tmp_path / "made", gpu_smoke_run.SHAPES["tiny"])
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "made")
    assert smoked[0]["stages"]["float32"]["parameters"] == model.num_parameters()


def test_the_shape_is_qwens():
    """Its published size: 494 million parameters, of which 136 million are the embedding."""
    shape = gpu_smoke_run.SHAPES["gpu"]
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
    assert measures.peak_of("NVIDIA H100 80GB HBM3")["float32"] == 66.9e12
    assert measures.peak_of("NVIDIA H200")["bfloat16"] == 989.4e12
    assert measures.peak_of("a toaster") is None


def test_the_commit_is_that_of_the_checkout():
    assert re.fullmatch(r"[0-9a-f]{40}(-dirty)?", measures.commit_here())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "torch finds no GPU here; --scale tiny runs on a CPU"),
        (["--scale", "tiny", "--model", "nowhere"], "no model in 'nowhere': it has no config.json"),
        (
            ["--page", "nowhere.md"],
            f"nowhere.md has no place for figures: give it the lines {BEGIN}",
        ),
        (["--minutes", "0"], "has no gpu.json to write a page of"),
    ],
)
def test_mistakes_are_told_in_a_line(monkeypatch, capsys, tmp_path, arguments, said):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert gpu_smoke.main(["--out", str(tmp_path / "out"), "--commit", "abc", *arguments]) == 2
    told = capsys.readouterr().err
    assert told.startswith("gpu_smoke: ")
    assert said in told
    assert told.count("\n") == 1
    assert not (tmp_path / "out/gpu.json").exists()


def test_without_git_it_asks_for_the_commit(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UserError, match="add --commit"):
        measures.commit_here()
