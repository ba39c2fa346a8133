"""The requirement by which CI installs what is installed here."""

from __future__ import annotations

import json
import subprocess

import pytest

from pytest_recall.cases.requirement import Requirement, install_command, recorded


@pytest.mark.parametrize(
    ("record", "release"),
    [
        ({"url": "https://h/a.tar.gz", "archive_info": {}}, " @ https://h/a.tar.gz"),
        ({"url": "https://h/a.tar.gz", "archive_info": {"hash": "sha256=9f"}}, " @ https://h/a.tar.gz#sha256=9f"),
        (
            {"url": "ssh://git@h/r", "vcs_info": {"vcs": "git", "commit_id": "ab"}, "subdirectory": "py"},
            " @ git+ssh://git@h/r@ab#subdirectory=py",
        ),
    ],
    ids=["archive", "older record", "folder of a repository"],
)
def test_a_record_is_a_requirement(record: dict[str, object], release: str) -> None:
    assert recorded(json.dumps(record), "0.1") == Requirement(release=release)


def test_a_requirement_is_one_argument_of_the_shell() -> None:
    command = install_command(Requirement(release=" @ https://h/$(id)'"), ("ci",))
    script = f"pip() {{ printf '%s\\n' \"$@\"; }}; {command}"
    shown = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert shown.stdout.splitlines() == ["install", "pytest-recall[ci] @ https://h/$(id)'"]
