"""Waits for the device in a mini-batch by verl's engines; on a CPU they are only counted."""

from collections import Counter
from functools import partial

import pytest
import torch
from tensordict import NonTensorData, TensorDict
from torch.utils._python_dispatch import TorchDispatchMode
from verl.utils import tensordict_utils

from ragen_starpo.objective import policy_contribution
from ragen_starpo.recipes.sections import LossSettings
from tests.ragen_starpo.engine.batches import VOCABULARY
from tests.ragen_starpo.engine.conftest import model_dir  # noqa: F401
from tests.ragen_starpo.engine.test_policy import SETTINGS
from tests.ragen_starpo.verl_process import VerlModel

pytestmark = pytest.mark.slow

WAITS = {
    *("_local_scalar_dense", "is_nonzero", "equal", "nonzero"),
    *("masked_select", "masked_scatter_backward"),
}


class Waits(TorchDispatchMode):
    """Counts operations for whose result the host waits, while `counts`."""

    counts = False

    def __init__(self):
        super().__init__()
        self.found = Counter()

    def __torch_dispatch__(self, function, types, arguments=(), named=None):
        name = function._schema.name.removeprefix("aten::")
        places = arguments[1] if name.startswith("index") else ()
        by_mask = isinstance(places, list | tuple) and any(
            isinstance(one, torch.Tensor) and one.dtype == torch.bool for one in places
        )
        if self.counts and (name in WAITS or by_mask):
            self.found[name] += 1
        return function(*arguments, **(named or {}))


def queued_rows(count, size):
    """Return rows as verl's queue gives them."""
    noise = torch.Generator().manual_seed(0)
    jagged = partial(torch.nested.as_nested_tensor, layout=torch.jagged)

    def texts(low, high):
        lengths = torch.randint(low, high, (count,), generator=noise).tolist()
        return [torch.randint(1, VOCABULARY, (length,), generator=noise) for length in lengths]

    prompts, responses = texts(2, 9), texts(3, 12)
    masks = [(torch.rand(one.shape, generator=noise) < 0.6).long() for one in responses]
    names = ("advantages", "old_log_probs", "weights")
    columns = {
        name: jagged([torch.randn(mask.shape, generator=noise) * mask for mask in masks])
        for name in names
    }
    ids = [torch.cat(row) for row in zip(prompts, responses, strict=True)]
    settings = {"temperature": 1.0, "use_dynamic_bsz": False, "micro_batch_size_per_gpu": size}
    settings["global_token_num"] = list(map(len, ids))
    return TensorDict(
        {
            "input_ids": jagged(ids),
            "position_ids": jagged([torch.arange(len(row)) for row in ids]),
            "prompts": jagged(prompts),
            "responses": jagged(responses),
            "response_mask": jagged(masks),
            "loss_mask": jagged(masks),
            **columns,
            **{name: NonTensorData(value) for name, value in settings.items()},
        },
        batch_size=[count],
    )


def test_no_pass_waits_for_the_device(model_dir):  # noqa: F811
    """From a micro-batch's first operation on the device to the next one's preparation."""
    model, rows = VerlModel("language_model", model_dir, SETTINGS), queued_rows(12, 4)
    loss = partial(policy_contribution, LossSettings())
    model.worker.set_loss_fn(loss)
    waits, engine, passes = Waits(), model.engine, []
    score, forward, step = engine.score, engine.forward_step, engine.optimizer_step

    def on_the_device(*given):
        passes.append(None)
        waits.counts = True
        return score(*given)

    def prepared(*given, **named):
        waits.counts = False
        return forward(*given, **named)

    def ended():
        waits.counts = False
        return step()

    engine.score, engine.forward_step, engine.optimizer_step = on_the_device, prepared, ended
    with waits:
        metrics = tensordict_utils.get(model.worker.train_batch(rows), "metrics")
    assert len(passes) == 3
    assert not waits.found
    assert int(metrics["tokens"][0].aggregate()) == int(rows["loss_mask"].values().sum())
