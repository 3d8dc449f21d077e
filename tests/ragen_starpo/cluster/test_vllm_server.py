"""verl's own vLLM server on a CPU, with our configuration and agent loop."""

import json
import shutil
import subprocess
from collections import Counter
from itertools import chain

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, AutoTokenizer

from ragen_envs.core.protocol import STOP
from ragen_starpo.cluster.ray_session import run_variables
from tests.ragen_bench.models.vllm.place import PYTHON, ROOT, environment

from .vllm_episodes import SETTINGS, TEMPERATURES

_PATIENCE = 540
_GAP = 5e-5
"""Of log-probabilities, as elsewhere: processors without AVX-512 round otherwise."""


@pytest.fixture(scope="module")
def folders(warm, tmp_path_factory):
    """The model that finds the form of an answer, and one of other weights of the same names.

    Their attention has one head in place of four, since vLLM's has 32 dimensions at least on a CPU.
    """
    folders = [tmp_path_factory.mktemp("served") / name for name in ("first", "other")]
    for folder in folders:
        shutil.copytree(warm, folder)
        config = json.loads((folder / "config.json").read_text())
        one_head = {"num_attention_heads": 1, "num_key_value_heads": 1}
        (folder / "config.json").write_text(json.dumps({**config, **one_head}))
    file = folders[1] / "model.safetensors"
    scaled = {name: weight * 0.5 for name, weight in load_file(file).items()}
    save_file(scaled, file, {"format": "pt"})
    return folders


@pytest.fixture(scope="module")
def episodes(folders, tmp_path_factory):
    """Episodes by the version of the weights and the temperature."""
    if not PYTHON.exists():
        pytest.skip("vLLM's environment is made by `make test`, on Linux")
    place = tmp_path_factory.mktemp("played")
    done = subprocess.run(
        [PYTHON, "-m", "tests.ragen_starpo.cluster.vllm_episodes", *folders, "episodes.json"],
        cwd=place,
        env={
            **environment(),
            **run_variables("cpu", "float32"),
            "PYTHONPATH": f"{ROOT}:{ROOT / 'trainers'}",
            "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
            # Of a process that trains.
            "RANK": "0",
            "RAY_LOCAL_WORLD_SIZE": "1",
        },
        capture_output=True,
        text=True,
        timeout=_PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads((place / "episodes.json").read_text())


@pytest.fixture(scope="module", params=[0, 1])
def version(request):
    return request.param


@pytest.fixture(scope="module")
def model(folders, version):
    return AutoModelForCausalLM.from_pretrained(folders[version], dtype="float32")


@pytest.mark.parametrize("temperature", TEMPERATURES)
def test_log_probabilities_are_of_the_weights_that_were_sent_last(
    episodes, model, version, temperature
):
    played = episodes[version][str(temperature)]
    assert len(played) == SETTINGS["rollouts"]["instances"] * SETTINGS["rollouts"]["samples"]
    for episode in played:
        assert episode["version"] == version
        ids, mask = torch.tensor(episode["ids"]), torch.tensor(episode["mask"])[1:].bool()
        with torch.inference_mode():
            logits = model(ids[None]).logits[0, :-1][mask]
        chosen = ids[1:][mask]
        if not temperature:
            # But for ties, which rounding may turn.
            assert (logits.max(-1).values - logits.gather(1, chosen[:, None])[:, 0]).max() < _GAP
        expected = torch.log_softmax(logits / (temperature or 1), -1)
        told = torch.tensor(episode["log_probs"])[1:][mask]
        torch.testing.assert_close(
            told, expected.gather(1, chosen[:, None])[:, 0], atol=_GAP, rtol=0
        )


def test_answers_end_with_the_stop_text_the_turns_end_or_the_limit(episodes, folders):
    tokenizer, limit = AutoTokenizer.from_pretrained(folders[0]), SETTINGS["rollouts"]["max_tokens"]
    counts = Counter()
    for episode in chain.from_iterable(chain(*map(dict.values, episodes))):
        for ids, stopped in episode["answers"]:
            at_stop = tokenizer.decode(ids).endswith(STOP)
            at_end = ids[-1] == tokenizer.eos_token_id
            assert stopped == (at_stop or at_end)
            assert stopped or len(ids) == limit
            assert STOP not in tokenizer.decode(ids[:-1])
            counts[at_stop, at_end] += 1
    assert min(counts[True, False], counts[False, True], counts[False, False]) > 0
