"""Know the programs that the plugin itself starts from those of the code under test."""

from __future__ import annotations

from contextvars import ContextVar

OWN: ContextVar[bool] = ContextVar("recall_own_program", default=False)
"""Whether a program that is started here is the plugin's own."""
