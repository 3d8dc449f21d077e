"""torch, imported at first use: recipes name algorithms, and are read where torch is missing."""

from __future__ import annotations


class _Torch:
    def __getattr__(self, name: str) -> object:
        import torch

        value = getattr(torch, name)
        setattr(self, name, value)
        return value


torch = _Torch()
Tensor = object
"""Stands for `torch.Tensor` in annotations."""
