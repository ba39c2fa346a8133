"""Markdown: text from outside as text, so that nothing in an answer can format, link or mention."""

from __future__ import annotations

import re

from pytest_recall.core.errors import one_line

_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+!|~])")
_LONGEST = 300


def cell(text: str) -> str:
    """Return text from outside as text: no Markdown, no HTML, no mention, one table cell."""
    plain = one_line(text, _LONGEST).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _SPECIAL.sub(r"\\\1", plain.replace("@", "@\u200b"))


def code(text: str) -> str:
    """Return an id as code, which keeps every character but the two that would end it."""
    return "`" + one_line(text, _LONGEST).replace("`", "'").replace("|", "\\|") + "`"
