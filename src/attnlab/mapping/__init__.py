"""`attnlab map`: what a model or a program attends to."""

from __future__ import annotations
