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

NEEDS = {"openai": "httpx<0.28", "genai-prices": "pydantic==2.10.*"}
"""What a package needs beside what pyproject.toml says: OpenAI's oldest release gives httpx an argument that is gone,
and each release of the price list needs a later pydantic than the plugin alone."""
PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"


def oldest(requirement: str) -> str:
    """Return the requirement `NAME==VERSION` for `NAME>=VERSION`; of two numbers any release that begins with them."""
    found = re.fullmatch(r"([A-Za-z0-9._-]+)>=([0-9.]+)(,<[0-9.]+)?", requirement)
    if found is None:
        raise SystemExit(f"{PROJECT}: {requirement!r} has no lower bound; write it as NAME>=VERSION")
    name, version = found[1], found[2]
    return f"{name}=={version}" if version.count(".") > 1 else f"{name}=={version}.*"


def name_of(requirement: str) -> str:
    """Return the package that a requirement is of."""
    return re.split(r"[^\w-]", requirement, maxsplit=1)[0]


def main(extras: Sequence[str] = ()) -> None:
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    optional = project["optional-dependencies"]
    requirements = [*project["dependencies"], *(one for extra in extras for one in optional[extra])]
    found = {name_of(one): one for one in map(oldest, requirements)}
    found |= {name_of(NEEDS[name]): NEEDS[name] for name in found if name in NEEDS}
    print(*found.values(), sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
