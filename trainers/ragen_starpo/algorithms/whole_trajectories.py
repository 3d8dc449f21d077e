"""Trajectories of several sequences, in one row each and back."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from ragen_starpo.rollout.trajectory import TokenBatch


class WholeTrajectories:
    """The sampled tokens of each trajectory one after the other, as estimators of advantages read.

    With a limited history each turn is a sequence of its own, but a turn's last token is still
    followed by the next turn's first: the next thing that the model decides, and the next value
    that its critic tells. Where each trajectory is one sequence, all stays where it stands.

    Args:
        batch: as `batch_of` makes it.

    Attributes:
        batch: of as many rows as trajectories.
    """

    def __init__(self, batch: TokenBatch) -> None:
        self.batch, self._mask = batch, batch.mask
        self._several = batch.count < len(batch)
        if not self._several:
            return
        self._sampled = batch.mask.nonzero(as_tuple=True)
        of = batch.trajectories[self._sampled[0]]
        lengths = torch.bincount(of, minlength=batch.count)
        before = lengths.cumsum(0) - lengths
        self._place = of, torch.arange(len(of)) - before[of]
        self._shape = batch.count, int(lengths.max())
        mask = self.joined(batch.mask)
        firsts = batch.rows(torch.searchsorted(batch.trajectories, torch.arange(batch.count)))
        self.batch = replace(
            firsts,
            ids=self.joined(batch.ids),
            attention=mask,
            mask=mask,
            turns=self.joined(batch.turns),
            log_probs=self.joined(batch.log_probs),
        )

    def joined(self, column: Tensor) -> Tensor:
        """Return what is told of sampled tokens in rows of trajectories.

        Args:
            column: (sequences, tokens).

        Returns:
            (trajectories, sampled tokens), padded on the right with 0.
        """
        if not self._several:
            return column
        whole = column.new_zeros(self._shape)
        whole[self._place] = column[self._sampled]
        return whole

    def apart(self, column: Tensor) -> Tensor:
        """Return the inverse of `joined`, 0 but on sampled tokens."""
        if not self._several:
            return column
        whole = column.new_zeros(self._mask.shape)
        whole[self._sampled] = column[self._place]
        return whole
