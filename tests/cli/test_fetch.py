"""`recall ci fetch`: what CI has recorded for a pull request, in a clone of anyone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Recall
from tests.helpers.remotes import ALONE, clone, git, with_remote

REF = "refs/recall/pull/7"


@pytest.fixture
def work(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a clone of a repository in which two runs of pull request 7 have recorded."""
    for name, value in ALONE.items():
        monkeypatch.setenv(name, value)
    bare = with_remote(project)
    writer = clone(bare, "writer")
    git(writer, "switch", "--quiet", "--orphan", "recordings")
    for run, texts in {"2026-03-10T1": {"a": "old", "b": "kept"}, "2026-03-11T1": {"a": "new"}}.items():
        folder = writer / "eval" / run / "cassettes" / "fees"
        folder.mkdir(parents=True)
        for name, text in texts.items():
            (folder / f"{name}.ndjson").write_text(text, encoding="utf-8")
    git(writer, "add", "--all")
    git(writer, "commit", "--quiet", "--message", "Recordings")
    git(writer, "push", "--quiet", "origin", f"HEAD:{REF}")
    return clone(bare, "reader")


def test_the_recordings_are_written_into_a_folder_the_newest_of_each_case(work: Path, inside: Recall) -> None:
    done = inside(work, "ci", "fetch", "--pr", "7", "--to", "recordings-7")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"{REF}: fetched (")
    found = {path.name: path.read_text(encoding="utf-8") for path in (work / "recordings-7" / "fees").iterdir()}
    assert found == {"a.ndjson": "new", "b.ndjson": "kept"}


@pytest.mark.parametrize("there", [False, True])
def test_git_passes_over_a_folder_that_the_command_has_made(work: Path, inside: Recall, *, there: bool) -> None:
    """One that was there before is someone's own."""
    if there:
        (work / "recordings-7").mkdir()
    for _ in range(2):
        assert inside(work, "ci", "fetch", "--pr", "7", "--to", "recordings-7").code == 0
    git(work, "add", "--all")
    assert bool(git(work, "diff", "--cached", "--name-only")) is there


def test_without_recordings_no_folder_is_made(work: Path, inside: Recall) -> None:
    assert inside(work, "ci", "fetch", "--pr", "8", "--to", "recordings-8").code == 0
    assert not (work / "recordings-8").exists()
