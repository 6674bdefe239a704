"""Nested tensors, samples of several lengths in one tensor, as plain ones."""

from __future__ import annotations

from torch import Tensor
from torch.nn.utils.rnn import pad_sequence


def padded(item: Tensor) -> tuple[Tensor, Tensor | None]:
    """[B, …, L, d] with zeros after the shorter samples, and where it is real, [B, L]; None where all of it is.

    `item` may be plain, and is returned as it is; or nested, each sample [L, d] or [H, L, d].
    """
    if not item.is_nested:
        return item, None
    samples = list(item.unbind(0))
    lengths = samples[0].new_tensor([sample.shape[-2] for sample in samples])
    made = pad_sequence([sample.movedim(-2, 0) for sample in samples], batch_first=True)  # [B, L, …, d]
    real = lengths.new_tensor(range(made.shape[1])) < lengths.unsqueeze(1)
    return made.movedim(1, -2), real
