"""Calibration file: `eval/calibration.yaml`, in which each checked judge has a row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from pytest_recall.core.calibration import Calibration, JudgeKey
from pytest_recall.store import strictyaml
from pytest_recall.store.files import read_text, write_text
from pytest_recall.store.written import read_mapping

_Text = Annotated[str, Field(min_length=1)]
_Kappa = Annotated[float, Field(strict=True, ge=-1, le=1)]
_HEAD = """\
# How far judging models agree with people. Written by `recall judge calibrate --write`.
"""


class _Row(BaseModel):
    # A program writes the file; what a later version of it adds is passed over.
    model_config = ConfigDict(extra="ignore", frozen=True, defer_build=True)

    judge: _Text
    model: _Text
    version: _Text
    kappa: _Kappa
    n: Annotated[int, Field(strict=True, ge=1)]
    interval: tuple[_Kappa, _Kappa] | None = None


class _File(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, defer_build=True)

    judges: tuple[_Row, ...] = ()


def read_calibrations(path: Path, name: str) -> dict[JudgeKey, Calibration]:
    """Return the calibrations in `path` by judge, none if there is no file. Raises RecallError."""
    if not path.exists():
        return {}
    file = read_mapping(path, name, _File, "`judges:` and a list")
    return {
        JudgeKey(row.judge, row.model, row.version): Calibration(
            row.kappa, row.n, None if row.interval is None else row.interval[0]
        )
        for row in file.judges
    }


def write_calibrations(path: Path, name: str, rows: Iterable[Mapping[str, Any]]) -> None:
    """Put these rows into the file, each in the place of one of the same judge, model and version.

    The others stay as they are; all are sorted. The caller holds the lock. Raises RecallError for
    a file that cannot be read, and OSError; nothing is changed then.
    """
    before: dict[str, Any] = {}
    if path.exists():
        read_calibrations(path, name)
        before = strictyaml.load(read_text(path, name), name)
    every = {_key(row): row for row in (*before.get("judges", ()), *rows)}
    rest = "".join(f"{field}: {strictyaml.flow(value)}\n" for field, value in before.items() if field != "judges")
    lines = "".join(f"  - {_line(every[key])}\n" for key in sorted(every))
    write_text(path, f"{_HEAD}{rest}judges:\n{lines}", durable=True)


def _key(row: Mapping[str, Any]) -> JudgeKey:
    return JudgeKey(row["judge"], row["model"], row["version"])


def _line(row: Mapping[str, Any]) -> str:
    return "{" + ", ".join(f"{field}: {strictyaml.flow(value)}" for field, value in row.items()) + "}"
