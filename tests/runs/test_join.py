"""Shards on disk: where they are looked for, and which run they are joined into."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_recall.files.errors import RecallError
from pytest_recall.files.eval_directory import Place
from pytest_recall.runs.job import NO_JOB
from pytest_recall.runs.join import merge
from pytest_recall.trials.journal import NAME, write_journal
from tests.runs.folding import NOON
from tests.runs.test_joining import WHOLE, cut


def test_a_folder_without_runs_is_refused(place: Place, tmp_path: Path) -> None:
    (tmp_path / "shards").mkdir()
    with pytest.raises(RecallError) as refused:
        merge(place, [str(tmp_path / "shards")], None, NOON, NO_JOB)
    told = "holds no run; give the folders that the shards wrote, or where they were put"
    assert str(refused.value) == f"{tmp_path / 'shards'}: {told}"
    assert place.artifacts.runs() == []


def test_shards_are_joined_in_the_place_of_the_run_that_had_them_whatever_else_is_there(
    place: Place, tmp_path: Path
) -> None:
    for number, shard in enumerate(cut(WHOLE, 2)):
        write_journal(tmp_path / "shards" / str(number), shard)
    first = merge(place, [str(tmp_path / "shards")], None, NOON, NO_JOB)
    other = place.artifacts.new_run(NOON)
    (other / NAME).write_text("{}\n", encoding="utf-8")
    again = merge(place, [str(tmp_path / "shards")], None, NOON, NO_JOB)
    assert (again.folder, again.record.trials) == (first.folder, first.record.trials)
