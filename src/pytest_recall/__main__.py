"""`python -m pytest_recall` is `recall`."""

from __future__ import annotations

from pytest_recall.cli import main

raise SystemExit(main())
