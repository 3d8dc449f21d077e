"""Errors of a full memory, in this process or in another, as one line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from ragen_bench.errors import UserError
from ragen_starpo.local.run import iterations_done

_SMALLER = (
    "lower micro_batch or micro_batch_tokens, with which the run goes on, or begin another run "
    "with lora.rank"
)
_ROLLOUTS = (
    "begin another run with lower rollouts.instances, rollouts.samples or rollouts.max_tokens; "
    "with verl lower actor_rollout_ref.rollout.max_num_seqs, or cluster.memory if vLLM samples"
)
_ENGINE = (
    "lower cluster.memory if the policy needs the GPU's memory, or raise it or lower "
    "rollouts.context if vLLM does"
)
_LOGS = (
    "its error is in Ray's logs, worker-*.err in /tmp/ray/session_latest/logs; if memory is "
    f"short, {_ENGINE}"
)
_SIGNS = {
    "cumem_allocator": ("the GPU has no room for vLLM as it wakes", _ENGINE),
    "cuda out of memory": ("the GPU's memory is full", _SMALLER),
    "cuda error: out of memory": ("the GPU's memory is full", _SMALLER),
    "cublas_status_alloc_failed": ("the GPU's memory is full", _SMALLER),
    "failed to cuda calloc": ("the GPU's memory is full", _SMALLER),
    "outofmemoryerror": ("the memory is full", _SMALLER),
    "can't allocate memory": ("this machine's memory is full", _SMALLER),
    "low on memory": ("this machine's memory is full", _SMALLER),
    "no available memory for the cache blocks": ("vLLM has no memory for its cache", _ENGINE),
    "larger than the available kv cache memory": ("vLLM has no room for one trajectory", _ENGINE),
    "less than desired gpu memory utilization": ("vLLM finds too little free memory", _ENGINE),
    "engine core initialization failed": ("vLLM's engine does not start", _LOGS),
    "enginedeaderror": ("vLLM's engine ended", _LOGS),
}
"""Texts of errors of torch, NCCL, Ray and vLLM in lower case: the line's beginning, and the setting
to change.

An engine's own process reports its error as text.
"""


@contextmanager
def explain_memory(run: Path) -> Iterator[None]:
    """Turn an error of a full memory into a UserError that names the latest checkpoint."""
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        found = find_advice(error)
        if found is None:
            raise
        problem, advice = found
        notes = getattr(error, "__notes__", ())
        # `waiting` is the phase of rollouts that are played ahead.
        if advice == _SMALLER and ("in rollouts" in notes or "in waiting" in notes):
            advice = _ROLLOUTS
        done = iterations_done(run)
        kept = f"the checkpoint of iteration {done} is kept" if done else "no checkpoint"
        raise UserError(f"{problem} ({kept}); {advice}", exit_code=1) from error


def find_advice(error: BaseException) -> tuple[str, str] | None:
    """Return the problem and the advice for an error of a full memory; None for another error."""
    text = f"{type(error).__name__}: {error}"
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        text = f"OutOfMemoryError: {text}"
    text = text.lower()
    return next((found for sign, found in _SIGNS.items() if sign in text), None)
