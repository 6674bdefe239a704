"""Attention weights of any PyTorch program, taken where its attention is called."""

from __future__ import annotations
