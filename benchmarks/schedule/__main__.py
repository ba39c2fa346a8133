"""`python benchmarks/schedule`: the same as `play.py` in it."""

from __future__ import annotations

from play import main

raise SystemExit(main())
