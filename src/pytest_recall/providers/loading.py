"""Loading: an object that the user wrote, by its module or file and its name."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any
from zlib import crc32

from pytest_recall.core.errors import nearest
from pytest_recall.core.model import ModelError


def load(place: str, name: str, root: Path) -> Any:
    """Return what `name`, with dots, is in the module or file `place`; files are looked for from `root`.

    Raises ModelError where it is not there, and whatever the module raises as it is imported.
    """
    found: Any = _module(place, root)
    for part in name.split("."):
        if not hasattr(found, part):
            names = [known for known in dir(found) if not known.startswith("_")]
            raise ModelError(f"{place} has no name `{name}`{nearest(part, names)}")
        found = getattr(found, part)
    return found


def _module(place: str, root: Path) -> ModuleType:
    if place.endswith(".py") or "/" in place or "\\" in place:
        path = root / place
        # Two files of one name are two modules.
        spec = spec_from_file_location(f"recall_model_{path.stem}_{crc32(str(path).encode()):08x}", path)
        if spec is None or spec.loader is None or not path.is_file():
            raise ModelError(f"there is no Python file {place}; correct the selector")
        module = sys.modules[spec.name] = module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    if str(root) not in sys.path:
        # Last, so that nothing of the project hides what is installed.
        sys.path.append(str(root))
    try:
        return import_module(place)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{place}.".startswith(f"{error.name}."):
            raise ModelError(f"there is no module {error.name}; correct the selector, or install it") from error
        raise
