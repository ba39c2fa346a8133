"""The barest YAML collector, which pytest-recall is compared with: rows, an agent, an equality."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml


def agent(question: str) -> str:
    return question


class Row(pytest.Item):
    def __init__(self, *, row: dict[str, str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.row = row

    def runtest(self) -> None:
        assert agent(self.row["input"]) == self.row["expected"]


class Rows(pytest.File):
    def collect(self) -> Iterator[Row]:
        for row in yaml.load(self.path.read_bytes(), yaml.CSafeLoader):
            yield Row.from_parent(self, name=row["id"], row=row)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> Rows | None:
    return Rows.from_parent(parent, path=file_path) if file_path.name == "cases.yaml" else None
