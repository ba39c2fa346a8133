"""`recall bench check`: findings as lines or JSON, and exit codes."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Recall
from tests.helpers.stories import STORY, arc, fill


def test_errors_are_printed_with_their_places_and_the_exit_code_is_one(tmp_path: Path, inside: Recall) -> None:
    fill(tmp_path / "museum", story={**STORY, "arcs": [arc("inventory", startDay=9, endDay=2)]})
    done = inside(tmp_path, "bench", "check", "museum")
    assert done.code == 1
    assert done.err == ""
    first, *_, last = done.out.splitlines()
    assert first.startswith("museum/arcs-12d.yaml:")
    assert first.endswith(": error: inventory: endDay 2 is before startDay 9; swap them")
    assert last == "1 error, 1 warning"


def test_warnings_are_no_reason_and_json_has_all_of_it(tmp_path: Path, inside: Recall) -> None:
    fill(tmp_path / "museum")
    done = inside(tmp_path, "bench", "check", "museum", "--json")
    assert done.code == 0
    told = json.loads(done.out)
    assert (told["version"], told["errors"], told["warnings"]) == (1, 0, 1)
    assert told["findings"] == [
        {
            "file": "museum/memories-12d",
            "line": 1,
            "severity": "warning",
            "rule": "unwritten",
            "message": "museum/memories-12d: is not there; `recall bench generate` writes it",
        }
    ]


def test_many_findings_are_summed_up_by_rule(tmp_path: Path, inside: Recall) -> None:
    arcs = [arc(f"late-{n}", startDay=9, endDay=2) for n in range(40)]
    fill(tmp_path / "museum", story={**STORY, "arcs": arcs})
    done = inside(tmp_path, "bench", "check", "museum")
    lines = done.out.splitlines()
    assert (done.code, lines[0]) == (1, "40 errors, 1 warning")
    (row,) = [line.split() for line in lines if line.startswith("error ")]
    assert row[2:] == ["40", "1"]
    assert sum("endDay 2 is before startDay 9" in line for line in lines) == 3
    assert f"… and 37 more of {row[1]}; --all prints all" in lines
    whole = inside(tmp_path, "bench", "check", "museum", "--all").out.splitlines()
    assert (len(whole), whole[-1]) == (42, "40 errors, 1 warning")
    assert inside(tmp_path, "bench", "check", "museum", "--json").out.count('"severity"') == 41


def test_the_dates_of_the_published_corpora_can_be_named(tmp_path: Path, inside: Recall) -> None:
    fill(tmp_path / "museum")
    assert inside(tmp_path, "bench", "check", "museum", "--dates", "legacy-dst").code == 0
    assert inside(tmp_path, "bench", "check", "museum", "--dates", "other").code == 2
