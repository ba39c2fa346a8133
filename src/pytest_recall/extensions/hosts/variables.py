"""Take values from variables of a job, which anyone may have set: what cannot be meant is left out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

_URL = re.compile(r"https?://[^\s<>()\[\]\"'`]+")
_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")


def path_in(environ: Mapping[str, str], name: str) -> Path | None:
    """Return the path in a variable, None where it is empty or not set."""
    return Path(environ[name]) if environ.get(name) else None


def web_address(text: str) -> str | None:
    """Return `text` if it is an address that a link may have, else None."""
    return text if _URL.fullmatch(text) else None


def commit_hash(text: str | None) -> str | None:
    """Return `text` if it is a hash of git, else None."""
    return text if text and _COMMIT.fullmatch(text) else None
