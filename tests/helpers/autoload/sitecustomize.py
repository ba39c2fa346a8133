"""What a process that a test starts does before anything else, since its path names this folder.

It imports `few_plugins`: a worker of pytest-xdist is given another path before it looks for it. And it
collects garbage seldom: half of what it costs to import a model's SDK is the walk over what stays.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import os
import runpy
from pathlib import Path

if "REWORDED" in os.environ:
    runpy.run_path(str(Path(__file__).parents[1] / "rewording/sitecustomize.py"))
importlib.import_module("few_plugins")
gc.set_threshold(1_000_000)
atexit.register(gc.freeze)
