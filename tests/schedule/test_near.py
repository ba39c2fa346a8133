"""What a change touches, as it is asked for, and by paths."""

from __future__ import annotations

import pytest

from pytest_recall.files.errors import RecallError
from pytest_recall.schedule.selection import NearRequest, parse, touched, unmatched


def test_every_form_is_told_from_the_others() -> None:
    assert parse(["fees, hours", "git:origin/main", "file:list.txt", "fees"]) == NearRequest(
        ("fees", "hours"), ("list.txt",), ("origin/main",)
    )
    assert parse(["off"]) == NearRequest(off=True)
    assert parse([]) == NearRequest()


@pytest.mark.parametrize("value", ["", " , ", "file:", "git:"])
def test_what_names_nothing_is_refused(value: str) -> None:
    with pytest.raises(RecallError, match="names nothing; give tags, file:PATH, git:REF, or off"):
        parse([value])


def test_what_pytest_reads_arguments_from_is_none() -> None:
    with pytest.raises(RecallError, match=r"^--recall-near: write file:list\.txt; pytest itself"):
        parse(["@list.txt"])


def test_off_stands_alone() -> None:
    with pytest.raises(RecallError, match="`off` is given together with what it would leave out"):
        parse(["off", "fees"])


GLOBS = {
    "fees": ("src/fees/**", "prompts/fee_*.md"),
    "all": ("prompts/", "!prompts/README.md"),
    "root": ("/setup.cfg",),
}


@pytest.mark.parametrize(
    ("path", "tags"),
    [
        ("src/fees/late/rule.py", ["fees"]),
        ("prompts/fee_late.md", ["all", "fees"]),
        ("prompts/README.md", []),
        ("deep/prompts/x", ["all"]),
        ("setup.cfg", ["root"]),
        ("deep/setup.cfg", []),
        ("src/fees", []),
    ],
)
def test_paths_fit_as_in_a_gitignore(path: str, tags: list[str]) -> None:
    assert touched(GLOBS, [path, "other.txt"]) == tags


def test_a_glob_that_fits_no_file_is_named() -> None:
    assert list(unmatched(GLOBS, ["prompts/README.md", "setup.cfg", "src/fees/a.py"])) == [
        ("fees", "prompts/fee_*.md"),
    ]
