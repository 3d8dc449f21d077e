"""torch, imported at first use: recipes name algorithms, and are read where torch is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch as torch
    from torch import Tensor as Tensor
else:

    class _Torch:
        def __getattr__(self, name: str) -> object:
            import torch

            value = getattr(torch, name)
            setattr(self, name, value)
            return value

    torch = _Torch()
    Tensor = object
