"""Models from a local folder, and their texts as a person reads them."""

from __future__ import annotations

from attnlab.models.loading import LoadError, Model, load

__all__ = ["LoadError", "Model", "load"]
