#!/usr/bin/env python3
"""Print the oldest release of each package that the plugin always needs, as pyproject.toml allows it, for pip.

scripts/oldest-requirements.py               what it always needs
scripts/oldest-requirements.py llm replay    with what these extras need
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

NEEDS = {"openai": "httpx<0.28"}
"""What the oldest release of a package needs without saying so: OpenAI's gives httpx an argument that is gone."""
PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"


def oldest(requirement: str) -> str:
    """Return the requirement `NAME==VERSION` for `NAME>=VERSION`; of two numbers any release that begins with them."""
    found = re.fullmatch(r"([A-Za-z0-9._-]+)>=([0-9.]+)(,<[0-9.]+)?", requirement)
    if found is None:
        raise SystemExit(f"{PROJECT}: {requirement!r} has no lower bound; write it as NAME>=VERSION")
    name, version = found[1], found[2]
    return f"{name}=={version}" if version.count(".") > 1 else f"{name}=={version}.*"


def main(extras: Sequence[str] = ()) -> None:
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    optional = project["optional-dependencies"]
    for requirement in [*project["dependencies"], *(one for extra in extras for one in optional[extra])]:
        found = oldest(requirement)
        print(found)
        if more := NEEDS.get(found.partition("==")[0]):
            print(more)


if __name__ == "__main__":
    main(sys.argv[1:])
