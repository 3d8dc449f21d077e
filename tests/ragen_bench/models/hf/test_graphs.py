"""Graphs of decoding steps: by a substitute on a CPU, and by CUDA where there is one."""

import copy
import logging

import pytest
import torch

from ragen_bench.models.base import Sampling
from ragen_bench.models.chat import Chat
from ragen_bench.models.hf import cache, decoding, graphs
from ragen_bench.models.hf.decoding import Decoder
from ragen_bench.models.hf.graphs import StepGraphs
from ragen_bench.models.hf.loading import LoadedModel, enable_rows
from ragen_envs.core.instances import RandomStream

from .test_loading_kinds import IDS, made

pytestmark = pytest.mark.xdist_group("language-model")


class Recorded:
    """As a captured step: it reads its own tensors, and its results are overwritten."""

    made = 0

    def __init__(self, step, inputs, pool, stream):
        del pool, stream
        Recorded.made += 1
        self._step, self._inputs = step, tuple(tensor.clone() for tensor in inputs)
        self.first = step(*self._inputs)
        self._outputs = tuple(tensor.clone() for tensor in self.first)

    def replay(self, inputs):
        for static, tensor in zip(self._inputs, inputs, strict=True):
            static.copy_(tensor)
        for static, tensor in zip(self._outputs, self._step(*self._inputs), strict=True):
            static.copy_(tensor)
        return tuple(tensor.clone() for tensor in self._outputs)


@pytest.fixture
def recorded(monkeypatch):
    """Make graphs of the substitute on a CPU."""
    monkeypatch.setattr(graphs, "_StepGraph", Recorded)
    monkeypatch.setattr(torch.cuda, "graph_pool_handle", lambda: None)
    monkeypatch.setattr(torch.cuda, "Stream", lambda: None)
    Recorded.made = 0
    found = StepGraphs(torch.device("cpu"))
    found.enabled = True
    return found


def double(tensor):
    return (2 * tensor,)


def test_a_graph_is_made_once_for_its_key_and_dropped_when_memory_moves(recorded):
    for shape in ("first", "moved"):
        for _ in range(2):
            recorded.keep_for(shape)
            for key, size in (("short", 1), ("long", 3)):
                for value in (1, 5):
                    given = (torch.full((size,), value),)
                    (found,) = recorded.run(key, double, given, capture=True)
                    assert found.tolist() == [2 * value] * size
        assert Recorded.made == (2 if shape == "first" else 4)


def test_a_few_steps_are_not_worth_a_graph(recorded):
    recorded.keep_for("here")
    one = (torch.ones(1),)
    assert recorded.run("key", double, one, capture=False)[0].tolist() == [2]
    assert Recorded.made == 0
    recorded.run("key", double, one, capture=True)
    assert recorded.run("key", double, one, capture=False)[0].tolist() == [2]
    assert Recorded.made == 1


def test_a_step_that_cannot_be_captured_runs_without_and_says_so_once(
    recorded, monkeypatch, caplog
):
    def refuse(*_):
        raise RuntimeError("called a synchronizing CUDA operation\nand so on")

    monkeypatch.setattr(graphs, "_StepGraph", refuse)
    recorded.keep_for("here")
    with caplog.at_level(logging.WARNING):
        for value in (1, 2, 3):
            (found,) = recorded.run("key", double, (torch.tensor([value]),), capture=True)
            assert found.tolist() == [2 * value]
    assert caplog.messages == [
        "the model is sampled without CUDA graphs, which is slower: "
        "called a synchronizing CUDA operation"
    ]


def sample(model, steps, found=None, decoder=None):
    """Sample after prompts of several lengths, with more of them than rows."""
    loaded = LoadedModel(Chat(None, False), model, frozenset([5]), 0, "")
    if decoder is None:
        decoder = Decoder(loaded, Sampling(1.0, 40, "", 0), 5, log_probs=True, steps=steps)
        if found:
            decoder._batch.graphs = found
    prompts = [IDS[number : 3 + 7 * (number % 4) + number] for number in range(12)]
    asked = [decoder.submit(ids, RandomStream("test", n)) for n, ids in enumerate(prompts)]
    ended = 0
    while ended < len(asked):
        ended += len(decoder.collect())
    return [one.ids for one in asked], [x for one in asked for x in one.log_probs], decoder


@pytest.fixture(scope="module")
def network():
    model = made("Qwen2").double()
    assert not enable_rows(model, IDS)
    return model


def test_graphs_sample_the_same_tokens(network, recorded, monkeypatch):
    monkeypatch.setattr(cache, "_COLUMN_STEP", 16)
    monkeypatch.setattr(decoding, "_MIN_COLUMNS", 16)
    wanted, scores, _ = sample(network, 1)
    found, found_scores, decoder = sample(network, 8, recorded)
    assert found == wanted
    assert found_scores == pytest.approx(scores, abs=1e-6)
    assert {len(ids) for ids in found} > {40}
    assert Recorded.made > len(decoder._batch.graphs._graphs) > 1  # some were dropped
    made, memory = Recorded.made, decoder._batch._cache._layers[0][0].data_ptr()
    for weight in network.parameters():
        weight.data.mul_(1.01)
    decoder.forget()
    again, again_scores, _ = sample(network, 8, decoder=decoder)
    wanted, scores, _ = sample(network, 1)
    assert again == wanted != found
    assert again_scores == pytest.approx(scores, abs=1e-6)
    assert Recorded.made - made <= 2  # of shapes that the rounds before had not
    assert decoder._batch._cache._layers[0][0].data_ptr() == memory


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_cuda_graphs_sample_the_same_tokens(network, caplog):
    model = copy.deepcopy(network).to("cuda")
    wanted, scores, _ = sample(model, 1)
    found, found_scores, decoder = sample(model, None)
    assert found == wanted
    assert found_scores == pytest.approx(scores, abs=1e-6)
    assert decoder._batch.graphs.enabled
    assert decoder._batch.graphs._graphs
    head = model.lm_head.forward
    model.lm_head.forward = lambda hidden: head(hidden + 0 * float(hidden.sum()))
    found, _, decoder = sample(model, None)
    assert found == wanted
    assert not decoder._batch.graphs.enabled
    assert len(caplog.messages) == 1
