"""pytest's own configuration: in which file of a project it stands, and whether it sets `testpaths`."""

from __future__ import annotations

import configparser
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

# In the order in which pytest looks for it: the file, the section, and whether the file counts without the section.
_FILES = (
    ("pytest.toml", "[pytest]", True),
    (".pytest.toml", "[pytest]", True),
    ("pytest.ini", "[pytest]", True),
    (".pytest.ini", "[pytest]", True),
    ("pyproject.toml", "[tool.pytest.ini_options]", False),
    ("pyproject.toml", "[tool.pytest]", False),
    ("tox.ini", "[pytest]", False),
    ("setup.cfg", "[tool:pytest]", False),
)


class Ini(NamedTuple):
    """Where pytest's settings stand or, without the section, would; no `file` is that none is there."""

    file: str | None
    section: str
    has_section: bool = False
    sets_testpaths: bool = False

    @property
    def is_toml(self) -> bool:
        """Whether values are written as TOML has them."""
        return self.file is not None and self.file.endswith(".toml")


def pytest_ini(root: Path) -> Ini:
    """Return where pytest's settings are in the project at `root`, or belong. What cannot be read sets nothing."""
    there = [one for one in _FILES if (root / one[0]).is_file()]
    for name, section, always in there:
        keys = _keys(root / name, section)
        if keys is not None or always:
            return Ini(name, section, keys is not None, "testpaths" in (keys or ()))
    return Ini(there[0][0], there[0][1]) if there else Ini(None, "[pytest]")


def _keys(path: Path, section: str) -> set[str] | None:
    """Return the keys of a section of the file, or None if it has none."""
    name = section.strip("[]")
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".toml":
            found: Any = tomllib.loads(text)
            for part in name.split("."):
                found = found.get(part) if isinstance(found, dict) else None
            # Under `tool.pytest` alone may stand the other table, and nothing else.
            return set(found) - {"ini_options"} or None if isinstance(found, dict) else None
        parser = configparser.ConfigParser(interpolation=None, strict=False)
        parser.read_string(text)
    except (OSError, ValueError, configparser.Error):
        return None
    return set(parser[name]) if parser.has_section(name) else None
