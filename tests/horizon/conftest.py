"""What the runs of these tests have in common."""

from __future__ import annotations

from tests.helpers.parsers_once import parsers_once

__all__ = ["parsers_once"]
