"""Calibration file: `eval/calibration.yaml`, in which each checked judge has a row."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from pytest_recall.core.calibration import Calibration, JudgeKey
from pytest_recall.store.written import read_mapping

_Text = Annotated[str, Field(min_length=1)]


class _Row(BaseModel):
    # A program writes the file; what a later version of it adds is passed over.
    model_config = ConfigDict(extra="ignore", frozen=True)

    judge: _Text
    model: _Text
    version: _Text
    kappa: Annotated[float, Field(strict=True, ge=-1, le=1)]
    n: Annotated[int, Field(strict=True, ge=1)]


class _File(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)

    judges: tuple[_Row, ...] = ()


def read_calibrations(path: Path, name: str) -> dict[JudgeKey, Calibration]:
    """Return the calibrations in `path` by judge, none if there is no file. Raises RecallError."""
    if not path.exists():
        return {}
    file = read_mapping(path, name, _File, "`judges:` and a list")
    return {JudgeKey(row.judge, row.model, row.version): Calibration(row.kappa, row.n) for row in file.judges}
