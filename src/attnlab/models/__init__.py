"""Models from a local folder, and their texts as a person reads them."""

from __future__ import annotations
