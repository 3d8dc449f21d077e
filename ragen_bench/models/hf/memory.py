"""The one-line error for a device that has too little memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from ragen_bench.errors import UserError

_OF_THE_CPU = "DefaultCPUAllocator"
"""What torch names when the machine itself is out of memory, in an error of no type of its own."""


@contextmanager
def enough_memory(device: Any, conversations: int) -> Iterator[None]:
    """Raise a UserError in place of what torch raises when memory is used up.

    Args:
        device: which one may have too little.
        conversations: how many are worked on at once.
    """
    try:
        yield
    except RuntimeError as error:
        if not (isinstance(error, torch.OutOfMemoryError) or _OF_THE_CPU in str(error)):
            raise
        raise UserError(
            f"{device} has too little memory for {conversations} conversations at once: lower "
            "--concurrency, with another --out; finished episodes are kept",
            exit_code=1,
        ) from None
