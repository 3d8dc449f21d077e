"""Random batches, and what plain transformers and torch make of them."""

import torch
from torch.nn import functional
from transformers import AutoConfig, AutoModelForTokenClassification

from ragen_starpo.rollout.trajectory import Sampled, TokenTrajectory, Turn, batch_of

VOCABULARY = 101
LAYOUTS = (
    ((3, 2),),
    ((4, 1), (2, 3)),
    ((2, 5), (1, 1), (3, 4)),
    (),  # a prompt that did not fit
    ((1, 1),),
    ((6, 2), (4, 2)),
    ((2, 7),),
)
"""Trajectories as turns, which are pairs of observed and sampled tokens."""


def token_batch(seed=0, layouts=LAYOUTS):
    noise = torch.Generator().manual_seed(seed)

    def ids(count):
        return tuple(torch.randint(1, VOCABULARY, (count,), generator=noise).tolist())

    return batch_of(
        [
            TokenTrajectory(
                group=row,
                turns=tuple(
                    Turn(ids(seen), Sampled(ids(said), (-4.0,) * said, stopped=True), 0.5)
                    for seen, said in layout
                ),
                record={},
            )
            for row, layout in enumerate(layouts)
        ],
        pad=0,
    )


def columns(batch, seed=1):
    """Return advantages and old log-probabilities near those of a random model."""
    noise = torch.Generator().manual_seed(seed)
    shape = batch.mask.shape
    return {
        "advantages": torch.randn(shape, generator=noise) * batch.mask,
        "old_log_probs": (torch.randn(shape, generator=noise) * 0.3 - 5) * batch.mask,
    }


def plain_log_probs(model, batch, temperature=1.0):
    """Return log-probabilities and entropies of sampled tokens, with gradient."""
    logits = model(input_ids=batch.ids, attention_mask=batch.attention).logits / temperature
    log_probs = torch.log_softmax(logits.float(), -1)
    chosen = log_probs[:, :-1].gather(-1, batch.ids[:, 1:, None]).squeeze(-1)
    entropies = -(log_probs.exp() * log_probs).sum(-1)[:, :-1]
    return tuple(functional.pad(x, (1, 0)) * batch.mask for x in (chosen, entropies))


def plain_critic(critic, folder):
    """Return the model of transformers that has the critic's weights."""
    config = AutoConfig.from_pretrained(folder, num_labels=1)
    model = AutoModelForTokenClassification.from_config(config).eval()
    model.load_state_dict(critic._backend.state())
    return model


def plain_values(model, batch):
    values = model(input_ids=batch.ids, attention_mask=batch.attention).logits.squeeze(-1)
    return functional.pad(values[:, :-1], (1, 0)) * batch.mask
