"""Imports `few_plugins` when Python starts: a worker of pytest-xdist is given another path before it looks for it."""

from __future__ import annotations

import importlib

importlib.import_module("few_plugins")
