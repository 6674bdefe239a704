"""Attention weights of any PyTorch program, taken where its attention is called.

api        `capture` and `Capturing`       captured   what they give
gathering  each attention, named and joined to the calls before it (joining, parts), copied (holding)
fused, packed, flex, nested   q, k, scale and mask of the operations that are an attention whole
written    attention that is written out, found by its data flow; forms: its weights as [B, H, Q, K]
"""

from __future__ import annotations

from attnlab.capturing.api import Capturing, capture
from attnlab.capturing.captured import Capture, Captured

__all__ = ["Capture", "Captured", "Capturing", "capture"]
