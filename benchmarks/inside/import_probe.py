"""Time the import of the plugin after pytest's own; prints seconds as JSON."""

from __future__ import annotations

import json
import sys
from time import perf_counter

import pytest

before = set(sys.modules)
begin = perf_counter()
import pytest_recall.plugin  # noqa: E402

seconds = perf_counter() - begin
names = sorted(set(sys.modules) - before)
assert pytest.__version__
assert pytest_recall.plugin.__name__ in names
print(json.dumps({"import": seconds, "modules": names}))
