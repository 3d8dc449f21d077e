"""What vLLM cannot do is said in a line before a run starts; no GPU is needed to know it."""

import json
import subprocess

import pytest

from ragen_bench.errors import UserError
from ragen_starpo.cluster.vllm_checks import check_attention, check_gpus
from ragen_starpo.engine import device_memory
from ragen_starpo.engine.device_memory import Gpu, find_gpus
from ragen_starpo.recipes.run_sections import ClusterSettings


@pytest.fixture
def model(tmp_path):
    def write(**config):
        (tmp_path / "config.json").write_text(json.dumps(config))
        return tmp_path

    return write


def settings(dtype, **changed):
    return ClusterSettings(device="gpu", engine="vllm", dtype=dtype, **changed)


@pytest.mark.parametrize(
    ("size", "dtype", "chosen"),
    [
        (64, "float32", None),
        (64, "bfloat16", None),
        (24, "bfloat16", None),
        (36, "float32", "TRITON_ATTN"),
        (128, "bfloat16", "FLASHINFER"),
        (24, "float32", "FLEX_ATTENTION"),
    ],
)
def test_heads_that_vllm_takes(model, size, dtype, chosen):
    check_attention(model(hidden_size=4 * size, num_attention_heads=4), settings(dtype), chosen)


@pytest.mark.parametrize(
    ("size", "dtype", "chosen", "said"),
    [
        (24, "float32", None, "have 24 channels, and vLLM's attention takes at least 32 in clust"),
        (20, "bfloat16", None, "takes multiples of 8 up to 256 or 64, 128, 256 and 512 or at le"),
        (96, "bfloat16", "FLASHINFER", "vLLM's FLASHINFER takes 64, 128, 256 and 512 in cluster"),
        (64, "float32", "FLASH_ATTN", "FLASH_ATTN does not compute in cluster.dtype=float32; se"),
    ],
)
def test_heads_and_dtypes_that_it_does_not_take(model, size, dtype, chosen, said):
    folder = model(hidden_size=512, num_attention_heads=8, head_dim=size)
    with pytest.raises(UserError) as refused:
        check_attention(folder, settings(dtype), chosen)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_model_without_such_numbers_is_left_to_vllm(model):
    check_attention(model(d_model=512), settings("float32"), None)
    check_attention(model(text_config={"head_dim": 64}), settings("float32"), None)


@pytest.fixture
def gpus(monkeypatch):
    """Lets nvidia-smi report these free MiB of GPUs of 80 GiB, and returns what it is asked."""
    asked = []

    def report(*free, total=81920, error=None):
        def run(command, **_):
            asked.append(command)
            if error:
                raise error
            lines = "".join(f"{each}, {total}, 9.0\n" for each in free)
            return subprocess.CompletedProcess(command, 0, stdout=lines)

        monkeypatch.setattr(device_memory.subprocess, "run", run)
        return asked

    return report


def test_a_gpu_that_another_process_fills(gpus, monkeypatch):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    cluster = ClusterSettings(device="gpu", engine="vllm", processes=2)
    gpus(81000, 20480)
    with pytest.raises(UserError) as refused:
        check_gpus(cluster, find_gpus(), None)
    assert str(refused.value) == (
        "GPU 1 has 20.0 of 80.0 GiB free, and cluster.memory=0.5 gives vLLM 40.0; end the other "
        "program on the GPU, or lower cluster.memory"
    )
    check_gpus(ClusterSettings(device="gpu", engine="vllm"), find_gpus()[:1], None)


def test_only_visible_gpus_are_asked_for(gpus, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    asked = gpus(81000)
    assert find_gpus() == [Gpu(81000 << 20, 81920 << 20, 9.0)]
    assert asked[0][-1] == "--id=3"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"error": FileNotFoundError("nvidia-smi")}, "FileNotFoundError: nvidia-smi"),
        ({"error": subprocess.TimeoutExpired("x", 20)}, "TimeoutExpired: Command 'x' timed out"),
        # As of a part of a GPU (MIG).
        ({"total": "[N/A]"}, "nvidia-smi reports '[N/A], [N/A], 9.0'"),
    ],
)
def test_what_cannot_be_checked_is_said_and_not_refused(gpus, caplog, given, said):
    gpus("[N/A]", **given)
    assert find_gpus() == []
    [line] = [record.getMessage() for record in caplog.records]
    what = "free memory and compute capability of the GPUs are not checked: "
    assert line.startswith(what + said)


@pytest.mark.parametrize(
    ("capability", "dtype", "chosen", "said"),
    [
        (
            7.5,
            "bfloat16",
            None,
            "vLLM needs 8.0 for cluster.dtype=bfloat16; set cluster.engine=h",
        ),
        (7.5, "float32", "FLASH_ATTN", "vLLM needs 8.0 for FLASH_ATTN; set cluster.engine=hf, or"),
        (7.0, "float32", None, "vLLM needs 7.5 for cluster.dtype=float32; set cluster.engine=hf"),
    ],
)
def test_gpus_that_are_too_old(capability, dtype, chosen, said):
    old = Gpu(80 << 30, 80 << 30, capability)
    with pytest.raises(UserError, match=f"GPU 0 has compute capability {capability}") as refused:
        check_gpus(settings(dtype), [old], chosen)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)
    check_gpus(settings("float32"), [Gpu(80 << 30, 80 << 30, 7.5)], None)
    check_gpus(settings("bfloat16"), [Gpu(80 << 30, 80 << 30, 8.0)], "FLASH_ATTN")


def test_heads_divide_among_the_gpus_of_an_engine(model):
    folder = model(hidden_size=896, num_attention_heads=14)
    check_attention(folder, settings("float32", processes=2, tensor_parallel=2), None)
    with pytest.raises(UserError, match="14 attention heads, which do not divide among"):
        check_attention(folder, settings("float32", processes=4, tensor_parallel=4), None)
