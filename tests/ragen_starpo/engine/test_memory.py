"""The estimate of a run's memory agrees with measurements, and decides what is refused."""

import json
import logging
from dataclasses import replace

import pytest
import torch
from transformers import AutoModelForCausalLM, Gemma3TextConfig, MambaConfig, OPTConfig, Qwen2Config

from ragen_bench.errors import UserError
from ragen_starpo.cli.run_files import describe_memory
from ragen_starpo.engine import attention, device_memory, model_memory
from ragen_starpo.engine.adapters import adapt
from ragen_starpo.engine.device_memory import host_memory
from ragen_starpo.engine.memory import (
    GIB,
    Placement,
    check_memory,
    estimate_memory,
    has_room_for_cache,
)
from ragen_starpo.engine.model_memory import measure_model
from ragen_starpo.engine.output_layer import OutputLayer
from ragen_starpo.iteration import Clock
from ragen_starpo.local.full_memory import explain_memory
from ragen_starpo.local.run import TrainingDirectory
from ragen_starpo.recipes.recipe import read_recipe, recipe_of
from ragen_starpo.recipes.run_sections import LoraSettings

pytestmark = pytest.mark.slow

SHAPES = {
    "26M": (512, 1536, 8, 8, 8, 2048),
    "0.5B": (896, 4864, 24, 14, 2, 151_936),
    "3B": (2048, 11008, 36, 16, 2, 151_936),
    "wide vocabulary": (64, 256, 2, 2, 2, 151_936),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Writes the configuration of a model, which has no weights."""

    def write(name):
        width, hidden, layers, heads, groups, vocabulary = SHAPES[name]
        config = Qwen2Config(
            vocab_size=vocabulary,
            hidden_size=width,
            intermediate_size=hidden,
            num_hidden_layers=layers,
            num_attention_heads=heads,
            num_key_value_heads=groups,
            max_position_embeddings=4096,
            tie_word_embeddings=True,
            architectures=["Qwen2ForCausalLM"],
        )
        place = tmp_path_factory.mktemp("model")
        config.save_pretrained(place)
        return place

    return write


@pytest.mark.parametrize(
    ("name", "kind", "dtype", "shape", "measured"),
    [
        ("26M", "language_model", "bfloat16", (36, 450), 4.0),
        ("26M", "language_model", "float32", (36, 450), 6.6),
        ("0.5B", "language_model", "bfloat16", (15, 1050), 33.8),
        ("0.5B", "value_model", "bfloat16", (15, 1050), 36.9),
    ],
)
def test_peaks_that_an_h100_had(folder, name, kind, dtype, shape, measured):
    """Of the page of results; the critic's has weights and optimiser of the policy in it."""
    one = measure_model(kind, folder(name), None, dtype, shape, "cuda")
    estimated = one.weights + 3 * one.trained + one.rounded + one.update(recomputes=False)
    if kind == "value_model":
        estimated += 12 * 494_032_768
    assert estimated / 1e9 == pytest.approx(measured, rel=0.1)


@pytest.mark.parametrize(("tokens", "measured"), [(2048, 0.20), (8192, 0.25), (16_384, 0.35)])
def test_peaks_of_the_benchmark_on_a_cpu(folder, tokens, measured):
    """Of `benchmarks/update_memory.py`, above weights and optimiser."""
    shape = (tokens // 512, 512)
    one = measure_model("language_model", folder("wide vocabulary"), None, "float32", shape, "cpu")
    assert (one.trained + one.update(recomputes=False)) / 1e9 == pytest.approx(measured, rel=0.2)


@pytest.mark.parametrize("lora", [None, LoraSettings(4, 4)])
@pytest.mark.parametrize(("shape", "device"), [((3, 17), "cpu"), ((1, 64), "cuda")])
def test_saved_tensors_are_those_of_a_forward_pass(
    random_model, tmp_path, monkeypatch, lora, shape, device
):
    """On a GPU, float32 has a key for each query, which is computed here on the CPU."""
    monkeypatch.setattr(attention, "_needs_equal_heads", lambda _: device == "cuda")
    random_model.save_pretrained(tmp_path)
    model = AutoModelForCausalLM.from_pretrained(tmp_path, dtype=torch.float32)
    attention.use_causal_attention(model)
    model = adapt(model, lora, "language_model") if lora else model
    known = {tensor.untyped_storage().data_ptr() for tensor in model.state_dict().values()}
    saved = {}

    def keep(tensor):
        saved[tensor.untyped_storage().data_ptr()] = tensor
        return tensor

    layer = OutputLayer(model.get_base_model() if lora else model)
    ids = torch.zeros(shape, dtype=torch.int64)
    places = torch.arange(ids.numel())
    hooks = torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor)
    with hooks, layer.scoring(places, places, 1.0):
        scores = layer.read(model.train()(input_ids=ids, use_cache=False).logits)
    assert scores[0].shape == (ids.numel(),)
    kept = sum(one.untyped_storage().nbytes() for at, one in saved.items() if at not in known)
    one = measure_model("language_model", tmp_path, lora, "float32", shape, device)
    assert one.saved == pytest.approx(kept, rel=0.05)
    weights = sum(weight.numel() for weight in model.parameters())
    trained = sum(weight.numel() for weight in model.parameters() if weight.requires_grad)
    assert (one.weights, one.trained) == (4 * weights, 4 * trained)
    # Two layers with a head of keys and one of values, of 16 channels each.
    assert one.cache == 2 * 2 * 16 * 4


def test_parts_of_a_run_on_a_gpu(folder):
    """By the arithmetic of the page of recipes: 46.0 GiB are 16 bytes for each weight."""
    gpu = Placement("cuda", "vllm", recomputes=True, gpu=80 * GIB)
    recipe = read_recipe("gpu", ["cluster.memory=0.3", "loss.kl=0.1"])
    whole = estimate_memory(recipe, folder("3B"), gpu)
    assert whole.kept["policy"] / GIB == pytest.approx(46.0 * 12 / 16, abs=0.1)
    assert whole.phases["vLLM"] == 24 * GIB
    assert whole.certain == sum(whole.kept.values()) + 24 * GIB
    halves = estimate_memory(recipe, folder("3B"), Placement("cuda", "vllm", ranks=2, gpu=80 * GIB))
    assert halves.kept["critic"] == pytest.approx(whole.kept["critic"] / 2, rel=1e-6)
    adapters = estimate_memory(read_recipe("gpu-3b"), folder("3B"), gpu)
    assert adapters.kept["policy"] / GIB == pytest.approx(13.3, abs=0.6)
    assert set(adapters.kept) == {"policy", "critic"}


def test_vllms_cache_fills_its_fraction_of_the_gpu(folder):
    """And one that has no room for a trajectory is refused before vLLM starts."""
    gpu = Placement("cuda", "vllm", gpu=80 * GIB, requests=256)
    model, recipe = folder("3B"), read_recipe("gpu-3b")
    cache = estimate_memory(recipe, model, gpu).cache
    # 3.09 billion weights of 2 bytes, and 2 GiB, activations and 28 bytes a logit of 256 tokens.
    rest = 0.3 * 80 - 3.09e9 * 2 / GIB - 2 - 256 * 28 * 151_936 / GIB
    assert rest - 1.5 < cache / GIB < rest
    assert estimate_memory(recipe, model, gpu, available=40 * GIB).cache is None
    assert estimate_memory(recipe, model, replace(gpu, gpu=None)).cache is None
    assert estimate_memory(recipe, model, replace(gpu, cache=GIB)).cache == GIB
    said = "cluster.memory=0.3 gives it 5.7 GiB, its weights take 5.7, and a trajectory of"
    with pytest.raises(UserError, match=said):
        estimate_memory(recipe, model, replace(gpu, gpu=19 * GIB))
    # 36 layers of 2 heads, each with keys and values of 128 numbers of 2 bytes.
    with pytest.raises(UserError, match=r"are 0\.1 GiB, and a trajectory of 3,600 tokens t"):
        estimate_memory(recipe, model, replace(gpu, cache=36 * 2 * 2 * 128 * 2 * 3600 - 1))


def test_activations_are_computed_again_only_if_they_may_not_fit(folder):
    recipe, model = read_recipe("gpu", ["cluster.memory=0.3"]), folder("0.5B")
    chosen = Placement("cuda", "vllm", recomputes=None, gpu=80 * GIB)

    def update(recomputes, available=None):
        found = estimate_memory(recipe, model, replace(chosen, recomputes=recomputes), available)
        return found.recomputes, found.phases["update"], sum(found.kept.values())

    (_, kept, rest), (_, again, _) = update(False), update(True)
    assert again < kept / 2
    fitting = int((kept + rest) / 0.8)
    assert update(None, fitting + 9) == (False, kept, rest)
    assert update(None, fitting - 9) == update(None) == (True, again, rest)


def test_nothing_is_assumed_of_activations_that_are_not_measured(folder, monkeypatch):
    """As those of mixtures of experts, whose routing needs numbers."""

    def fail(*_):
        raise NotImplementedError("no numbers on meta")

    monkeypatch.setattr(model_memory, "_run_forward", fail)
    verl, model = Placement("cuda", "vllm", recomputes=None, gpu=80 * GIB), folder("0.5B")
    found = check_memory(read_recipe("gpu", ["cluster.memory=0.3"]), model, verl, 80 * GIB)
    assert (found["recomputes"], found["measured"], found["cache"]) == (True, False, None)
    local = check_memory(recipe(), model, Placement("cuda"), 80 * GIB)
    assert not has_room_for_cache(local)
    assert has_room_for_cache({**local, "measured": True})


def test_windows_need_no_room_for_the_whole_context(folder, monkeypatch, tmp_path):
    """A cache that grows with the context would be refused: 12 kB a token, 3 GB in all."""
    gpu = Placement("cuda", "vllm", gpu=6 * GIB, requests=4)
    model, known = folder("0.5B"), read_recipe("gpu", ["cluster.memory=0.5"])
    known = replace(known, rollouts=replace(known.rollouts, context=262_144))
    with pytest.raises(UserError, match="a trajectory of 262,144 tokens takes 3"):
        estimate_memory(known, model, gpu)
    assert not model_memory.has_windows(model)
    Gemma3TextConfig(num_hidden_layers=6).save_pretrained(tmp_path)
    assert model_memory.has_windows(tmp_path)
    monkeypatch.setattr(model_memory, "has_windows", lambda _: True)
    assert estimate_memory(known, model, gpu).total > 0


def test_a_local_run_keeps_reference_and_copies(folder):
    overrides = ["loss.kl=0.1", "micro_batch=2", "rollouts.context=600", "mini_batch=8"]
    found = estimate_memory(read_recipe("small", overrides), folder("26M"), Placement("cpu"))
    assert list(found.kept) == ["policy", "critic", "reference", "sampling model"]
    assert found.kept["policy"] == 3 * found.kept["reference"]
    assert found.micro_batch == (2, 600)
    assert {"update", "rollouts", "transfer", "validation"} == set(found.phases)
    model = measure_model("language_model", folder("26M"), None, "float32", (2, 600), "cpu")
    rows, columns = 8 * 16, 768
    assert found.phases["rollouts"] == rows * (columns * model.cache + 20 * 2048)
    half = estimate_memory(
        read_recipe("small", [*overrides, "cluster.dtype=bfloat16"]),
        folder("26M"),
        Placement("cpu"),
    )
    assert half.kept == {**found.kept, "sampling model": found.kept["sampling model"] // 2}
    assert half.phases["rollouts"] == rows * (columns * model.cache // 2 + 20 * 2048)
    assert half.phases["validation"] == found.phases["validation"]  # of the folder, in float32
    longer = read_recipe("small", [*overrides, "rollouts.context=1100"])
    for device, columns in (("cpu", 1280), ("cuda", 1536)):
        found = estimate_memory(longer, folder("26M"), Placement(device))
        assert found.phases["rollouts"] == rows * (columns * model.cache + 20 * 2048)
    by_tokens = read_recipe("small", [*overrides, "micro_batch_tokens=2500"])
    found = estimate_memory(by_tokens, folder("26M"), Placement("cpu"))
    assert found.micro_batch == (4, 625)


def test_rollouts_of_an_engine_are_as_many_as_it_answers_at_once(folder):
    model, held = folder("26M"), {"every": 1, "instances": 96}
    settings = {"rollouts": {"instances": 4, "samples": 16}, "validation": held}
    of = {
        requests: estimate_memory(
            recipe(**settings), model, Placement("cpu", "hf", requests=requests)
        ).phases["rollouts"]
        for requests in (None, 200, 48)
    }
    assert of[None] == of[200] == 2 * of[48]
    with_four = Placement("cpu", "hf", ranks=4, here=4, requests=12)
    assert estimate_memory(recipe(**settings), model, with_four).phases["rollouts"] == of[48]


def recipe(**changed):
    return recipe_of({"model": "m", "envs": ["Sokoban-v0"], **changed}, "a test")


def test_what_cannot_fit_is_refused_in_a_line(folder, caplog):
    large, gpu = folder("3B"), Placement("cuda")
    with pytest.raises(UserError) as refused:
        check_memory(recipe(), large, gpu, 80 * GIB)
    said = str(refused.value)
    assert "\n" not in said
    assert said.startswith("the model does not fit: weights, gradients, optimiser and engine take")
    assert "the GPU has 80.0 free (policy 34.5, critic 34.5, sampling model 11.5, update" in said
    assert "train adapters by lora.rank=64 and lora.critic=true" in said
    assert not caplog.records


def test_what_may_not_fit_is_warned_of_and_what_fits_is_not(folder, caplog):
    caplog.set_level(logging.WARNING, "ragen_starpo.memory")
    place = folder("26M")
    found = check_memory(recipe(), place, Placement("cpu"), 64 * GIB)
    assert not caplog.records
    assert found["available"] == 64 * GIB
    assert found["certain"] < found["total"] < 64 * GIB
    found = check_memory(recipe(), place, Placement("cpu"), found["certain"])
    [line] = [record.getMessage() for record in caplog.records]
    assert "this machine has free (policy 0.3" in line
    assert line.endswith(
        "if it gets full, lower rollouts.context, rollouts.instances or rollouts.samples"
    )
    described = describe_memory(json.loads(json.dumps(found)))
    assert described.startswith("Memory  8.7 GiB estimated of 0.8 free: policy 0.3, critic 0.3, ")
    assert "; that is more than is free: lower rollouts.context, " in described
    unknown = check_memory(recipe(), place, Placement("cpu"), None)
    assert "advice" not in unknown
    rollouts, total = found["phases"]["rollouts"], found["total"]
    records = [{**found, "available": total + rollouts - less} for less in (0, 1)]
    room = [has_room_for_cache(one) for one in (*records, unknown, {"error": "x"})]
    assert room == [True, False, False, False]
    assert len(caplog.records) == 1


def test_a_folder_without_a_model_is_reported_as_ever(tmp_path):
    with pytest.raises(UserError, match="no model to train in"):
        check_memory(recipe(), tmp_path, Placement("cpu"), GIB)


def test_models_without_attention_are_estimated_and_unknown_ones_say_why(tmp_path):
    MambaConfig(vocab_size=100, hidden_size=32, num_hidden_layers=2).save_pretrained(tmp_path)
    one = measure_model("language_model", tmp_path, None, "float32", (2, 8), "cpu")
    assert one.weights > 4 * 100 * 32
    OPTConfig().save_pretrained(tmp_path)  # which has no value head
    found = check_memory(recipe(), tmp_path, Placement("cpu"), 1)
    assert list(found) == ["error"]
    assert describe_memory(found).startswith("Memory  not estimated: ")
    MambaConfig(vocab_size=100, hidden_size=32, num_hidden_layers=0).save_pretrained(tmp_path)
    assert "ZeroDivisionError" in check_memory(recipe(), tmp_path, Placement("cpu"), 1)["error"]


@pytest.mark.parametrize("version", [1, 2])
def test_a_cgroup_limits_the_memory(tmp_path, monkeypatch, version):
    monkeypatch.setattr(device_memory, "_HOST", tmp_path)
    monkeypatch.setattr(device_memory, "_CGROUPS", tmp_path / "cgroup")
    (tmp_path / "self").mkdir()
    (tmp_path / "meminfo").write_text("MemTotal: 9000 kB\nMemAvailable: 8000 kB\n")
    (tmp_path / "self/cgroup").write_text("3:cpu:/a\n0::/a/b\n")
    assert host_memory() == 8000 << 10
    root, limit, usage = tmp_path / "cgroup/a", "memory.max", "memory.current"
    if version == 1:
        (tmp_path / "self/cgroup").write_text("5:cpu,memory:/a/b\n0::/\n")
        root, limit = tmp_path / "cgroup/memory/a", "memory.limit_in_bytes"
        usage = "memory.usage_in_bytes"
    for group, most in ((root / "b", "max"), (root, "5000")):
        group.mkdir(parents=True, exist_ok=True)
        (group / limit).write_text(most)
        (group / usage).write_text("3000")
        (group / "memory.stat").write_text("anon 1\ninactive_file 500\n")
    assert host_memory() == 2500


def test_a_system_without_such_files_has_no_known_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(device_memory, "_HOST", tmp_path)
    assert host_memory() is None


def test_memory_that_torch_keeps_unused_is_free(monkeypatch):
    assert device_memory.free_memory() == pytest.approx(host_memory(), abs=GIB)
    for name, value in {
        "is_available": True,
        "mem_get_info": (10, 100),
        "memory_reserved": 70,
        "memory_allocated": 20,
    }.items():
        monkeypatch.setattr(torch.cuda, name, lambda value=value: value)
    assert device_memory.free_memory() == 60


class EngineError(Exception):
    """An error of another process, of which the text is left."""


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (torch.OutOfMemoryError("x"), "the memory is full"),
        (MemoryError(), "the memory is full"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you"), "this machine's memory"),
        (EngineError("torch.OutOfMemoryError: CUDA out of memory. Tried"), "the GPU's memory is"),
        (EngineError("ValueError: No available memory for the cache blocks. T"), "vLLM has no mem"),
        (
            EngineError(
                "(8.0 GiB KV cache is needed, which is larger than the available KV cache memory"
            ),
            "vLLM has no room for one trajectory",
        ),
        (
            EngineError("CUDA Error: out of memory at /csrc/cumem_allocator.cpp:62"),
            "the GPU has no room for vLLM as it wakes",
        ),
        (EngineError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling"), "the GPU's memory is"),
        (EngineError("Last error:\nFailed to CUDA calloc 4194304 bytes"), "the GPU's memory is f"),
        (EngineError("EngineDeadError: EngineCore encountered an issue."), "vLLM's engine ended"),
        (EngineError("is less than desired GPU memory utilization (0.5"), "vLLM finds"),
        (EngineError("Engine core initialization failed. See root"), "vLLM's engine does not st"),
    ],
)
def test_full_memories_in_other_processes_are_one_line(tmp_path, error, said):
    with pytest.raises(UserError) as refused, explain_memory(tmp_path):
        raise error
    assert str(refused.value).startswith(said)
    assert "(no checkpoint); lower" in str(refused.value) or "Ray's logs" in str(refused.value)
    assert "\n" not in str(refused.value)
    assert refused.value.exit_code == 1


@pytest.mark.parametrize("error", [torch.OutOfMemoryError("x"), EngineError("CUDA out of memory")])
def test_rollouts_without_room_are_given_their_own_settings(tmp_path, error):
    def advice(phase):
        with pytest.raises(UserError) as told, explain_memory(tmp_path), Clock().measure(phase):
            raise error
        return str(told.value)

    assert "lower micro_batch or micro_batch_tokens" in advice("updates")
    for phase in ("rollouts", "waiting"):
        assert "with lower rollouts.instances, rollouts.samples or" in advice(phase)


def test_the_kept_checkpoint_is_named_and_other_errors_stay(tmp_path):
    run = TrainingDirectory(tmp_path / "run", recipe())
    with run.checkpoint(3, "local") as draft:
        (draft / "x").write_text("")
    kept = pytest.raises(UserError, match="the checkpoint of iteration 3 is kept")
    with kept, explain_memory(run.path):
        raise torch.OutOfMemoryError("x")
    with pytest.raises(ArithmeticError), explain_memory(run.path):
        raise ArithmeticError("a memory of something else")
