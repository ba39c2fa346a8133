"""Report: measured lines against their targets, as a Markdown table or JSON."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal

from measure import MeasureError

NOISY = 0.2
"""Above this the machine was busy, and a verdict near the target is a guess."""
COLUMNS = ("what", "measured", "reference", "ratio", "extra", "target", "noise", "")


@dataclass(frozen=True, kw_only=True)
class Line:
    """One measured value beside its reference, both in `unit`.

    `limit` holds for the value, for its ratio to the reference, or for what it takes more
    than the reference, as `limit_on` says; without one the line is for information.
    `noise` is how far the median of the rounds lies above the least, on the noisier side.
    """

    theme: str
    what: str
    unit: str
    value: float
    reference: float | None = None
    against: str = ""
    limit: float | None = None
    limit_on: Literal["value", "ratio", "extra"] = "value"
    noise: float | None = None

    @property
    def ratio(self) -> float | None:
        """How many times the reference."""
        return self.value / self.reference if self.reference else None

    @property
    def extra(self) -> float | None:
        """How much more than the reference."""
        return None if self.reference is None else self.value - self.reference

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None where there is none."""
        held = {"value": self.value, "ratio": self.ratio, "extra": self.extra}[self.limit_on]
        return None if self.limit is None or held is None else held <= self.limit

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON types."""
        return {
            "theme": self.theme,
            "what": self.what,
            "unit": self.unit,
            "value": self.value,
            "reference": self.reference,
            "against": self.against,
            "ratio": self.ratio,
            "extra": self.extra,
            "limit": self.limit,
            "limit_on": self.limit_on if self.limit is not None else None,
            "noise": self.noise,
            "met": self.met,
        }


def machine() -> dict[str, Any]:
    """Return the facts without which no number means anything. Raises MeasureError."""
    try:
        versions = {name: version(name) for name in ("pytest", "pydantic", "pyyaml", "pytest-recall")}
    except PackageNotFoundError as error:
        raise MeasureError(f"{error.name} is not installed here; `pip install -e .[dev]`") from None
    return {
        "python": platform.python_version(),
        **versions,
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "load": round(os.getloadavg()[0], 2),
    }


def markdown(lines: Iterable[Line], facts: dict[str, Any], notes: Iterable[str]) -> Iterator[str]:
    """Yield the report as Markdown, line by line."""
    yield ", ".join(f"{name} {value}" for name, value in facts.items())
    yield ""
    yield f"| {' | '.join(COLUMNS)} |"
    yield f"| --- |{' ---: |' * (len(COLUMNS) - 2)} --- |"
    for line in lines:
        yield f"| {' | '.join(_cells(line))} |"
    yield ""
    for note in notes:
        yield f"- {note}"


def _cells(line: Line) -> Iterator[str]:
    yield line.what
    yield _amount(line.value, line.unit)
    yield "–" if line.reference is None else f"{_amount(line.reference, line.unit)} ({line.against})"
    yield "–" if line.ratio is None else f"{line.ratio:.2f}"
    yield "–" if line.extra is None else _amount(line.extra, line.unit)
    yield _target(line)
    yield "–" if line.noise is None else f"+{line.noise:.0%}"
    verdict = {True: "ok", False: "**MISSED**", None: ""}[line.met]
    yield f"{verdict} (noisy)" if verdict and (line.noise or 0) > NOISY else verdict


def _target(line: Line) -> str:
    if line.limit is None:
        return "–"
    if line.limit_on == "ratio":
        return f"ratio ≤ {line.limit:g}"
    named = "extra " if line.limit_on == "extra" else ""
    return f"{named}≤ {line.limit:g} {line.unit}"


def _amount(value: float, unit: str) -> str:
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    return f"{value:.{digits}f} {unit}"
