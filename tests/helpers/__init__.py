"""What the end-to-end tests share."""

from __future__ import annotations
