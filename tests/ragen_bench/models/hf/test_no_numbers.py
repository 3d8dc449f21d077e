"""Logits that are NaN or infinite: one line, whatever the engine, and no answer."""

import dataclasses
import math
from functools import partial

import pytest
import torch

from ragen_bench.errors import UserError
from ragen_bench.models import Sampling
from ragen_bench.models.base import ask_all
from ragen_bench.models.hf import model as hf
from ragen_bench.models.hf.decoding import Decoder
from ragen_bench.models.hf.model import HFModel
from ragen_bench.models.hf.sampling import NO_NUMBER, TokenSampler

from ..hf_models import request, save_tiny

REFUSED = "the model's logits are NaN or infinite, so nothing can be sampled"
ASKED = [request("one", "Wet."), request("two", "Dry.", "Yes.", "And now?")]
NAN, INF = math.nan, math.inf


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("log_probs", [False, True])
def test_a_row_without_numbers_has_no_token(temperature, log_probs):
    rows = [[1.0, 3.0], [NAN, 3.0], [-INF, -INF], [1.0, INF], [-INF, 2.0], [0.0, NAN]]
    sampler = TokenSampler(temperature, log_probs=log_probs and temperature > 0)
    chosen = sampler.choose(torch.tensor(rows), torch.full((6,), 0.999, dtype=torch.float64))[0]
    assert chosen.tolist() == [1, NO_NUMBER, NO_NUMBER, NO_NUMBER, 1, NO_NUMBER]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_tiny(tmp_path_factory.mktemp("tiny"), num_hidden_layers=1)


def broken(folder, after, value, engine):
    """Return a model whose passes give no numbers after some of them."""
    model = HFModel(str(folder), slots=2)
    if engine == "waves":
        model._loaded.model.set_attn_implementation("sdpa")
        model._loaded = dataclasses.replace(model._loaded, waves="for the test")
    passes = []

    def spoil(module, inputs, logits):
        passes.append(1)
        return logits.fill_(value) if len(passes) > after else logits

    model._loaded.model.get_output_embeddings().register_forward_hook(spoil)
    return model


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["continuous", "waves"])
@pytest.mark.parametrize(("after", "value"), [(0, NAN), (3, NAN), (2, INF), (2, -INF)])
@pytest.mark.parametrize("steps", [1, 8])
def test_a_run_ends_in_one_line(folder, engine, after, value, steps, monkeypatch):
    monkeypatch.setattr(hf, "Decoder", partial(Decoder, steps=steps))
    model = broken(folder, after, value, engine)
    with pytest.raises(UserError, match=REFUSED) as caught:
        ask_all(model, ASKED, Sampling(1.0, 12, "", 0))
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 1


@pytest.mark.slow
def test_what_is_sampled_after_an_end_is_not_judged(folder, monkeypatch):
    """In a block of steps, numbers of an ended answer may be of any kind."""
    monkeypatch.setattr(hf, "Decoder", partial(Decoder, steps=8))
    whole = ask_all(HFModel(str(folder), slots=2), ASKED, Sampling(0.0, 3, "", 0))
    spoilt = ask_all(broken(folder, 3, NAN, "continuous"), ASKED, Sampling(0.0, 3, "", 0))
    assert spoilt == whole
