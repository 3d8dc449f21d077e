"""The process that samples, without Ray."""

import torch

from ragen_bench.models.hf_loading import load


def test_it_samples_in_32_bits_whatever_the_folder_has(warm):
    from ragen_starpo.cluster.hf_server import HFServer

    assert load(str(warm)).model.dtype == torch.bfloat16
    model = HFServer(str(warm), 1)._loaded.model
    assert {weight.dtype for weight in model.parameters()} == {torch.float32}
