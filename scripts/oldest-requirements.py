#!/usr/bin/env python3
"""Print the oldest release of each package that the plugin always needs, as pyproject.toml allows it, for pip."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"


def oldest(requirement: str) -> str:
    """Return the requirement `NAME==VERSION` for `NAME>=VERSION`; of two numbers any release that begins with them."""
    found = re.fullmatch(r"([A-Za-z0-9._-]+)>=([0-9.]+)(,<[0-9.]+)?", requirement)
    if found is None:
        raise SystemExit(f"{PROJECT}: {requirement!r} has no lower bound; write it as NAME>=VERSION")
    name, version = found[1], found[2]
    return f"{name}=={version}" if version.count(".") > 1 else f"{name}=={version}.*"


def main() -> None:
    for requirement in tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["dependencies"]:
        print(oldest(requirement))


if __name__ == "__main__":
    main()
