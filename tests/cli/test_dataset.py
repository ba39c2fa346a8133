"""`recall memory dataset`: what is in a file, what is odd in it, and samples to try."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from pytest_recall.datasets.file import PUBLISHED, Published
from tests.cli.conftest import Recall
from tests.cli.samples import recall
from tests.datasets.files import plain, write

WHOLE = """\
locomo.json: locomo, an array whose rows have `conversation` and `qa`
{size:,} bytes, sha256 {sha256}
no published file that is known by its digest
2 conversations, 8 sessions, 49 turns, 22 questions, 4 unanswerable

category       questions
1 multi-hop            4
2 temporal             5
3 open-domain          2
4 single-hop           7
5 adversarial          4

"""


def about(path: Path) -> dict[str, Any]:
    data = path.read_bytes()
    return {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def test_the_shipped_sample_is_checked_by_its_name(tmp_path: Path, inside: Recall) -> None:
    done = recall(tmp_path, "memory", "dataset", "sample", "--dataset", "locomo")
    assert done.out.startswith("the sample of locomo: locomo, as --dataset says\n")


def test_a_sample_is_checked(tmp_path: Path, inside: Recall) -> None:
    path = tmp_path / "locomo.json"
    done = recall(tmp_path, "memory", "sample", "locomo")
    assert (done.code, done.err) == (0, "")
    path.write_text(done.out, encoding="utf-8")
    assert inside(tmp_path, "memory", "dataset", "locomo.json") == (
        0,
        WHOLE.format(**about(path)) + "nothing odd\n",
        "",
    )


@pytest.mark.parametrize("format", ["locomo", "longmemeval", "dmr"])
def test_every_sample_is_sound(format: str, tmp_path: Path, inside: Recall) -> None:
    (tmp_path / "f").write_text(inside(tmp_path, "memory", "sample", format).out, encoding="utf-8")
    for chosen in ("auto", format):
        done = inside(tmp_path, "memory", "dataset", "f", "--dataset", chosen, "--json")
        assert (done.code, done.err) == (0, "")
        found = json.loads(done.out)
        assert (found["file"], found["format"], found["published"], found["oddities"]) == ("f", format, None, [])
        assert found["sha256"] == about(tmp_path / "f")["sha256"]
    assert found["recognised_by"] == "as --dataset says"


def odd_file(folder: Path) -> Path:
    """Write a file that can be read and in which several things are odd."""
    rows = plain("locomo")
    for n in range(7):
        rows[0]["conversation"][f"session_{n + 10}_date_time"] = "1:00 pm on 1 July, 2024"
    rows[1]["qa"][0]["evidence"] = ["D1:1; D1:3", "D"]
    del rows[1]["qa"][2]["answer"]
    return write(folder / "locomo.json", "locomo", rows)


def test_oddities_are_listed_with_their_places(tmp_path: Path, inside: Recall) -> None:
    path = odd_file(tmp_path)
    done = inside(tmp_path, "memory", "dataset", "locomo.json")
    assert done.code == 1
    assert done.out == WHOLE.format(**about(path)) + (
        "odd (10):\n"
        "  evidence that names no turn or session: 1\n"
        "    row 2 (conv-2): qa[1].evidence: 'D'\n"
        "  evidence written in an unusual way: 1\n"
        "    row 2 (conv-2): qa[1].evidence: 'D1:1; D1:3' read as D1:1, D1:3\n"
        "  questions without an answer: 1\n"
        "    row 2 (conv-2): qa[3]: category single-hop\n"
        "  dates without a session: 7\n"
        + "".join(f"    row 1 (conv-1): session_{n}_date_time: passed over\n" for n in range(10, 15))
        + "    … and 2 more\n"
    )


def test_oddities_as_json(tmp_path: Path, inside: Recall) -> None:
    odd_file(tmp_path)
    done = inside(tmp_path, "memory", "dataset", "locomo.json", "--json")
    assert done.code == 1
    assert [(one["kind"], one["count"], len(one["places"])) for one in json.loads(done.out)["oddities"]] == [
        ("evidence", 1, 1),
        ("repaired", 1, 1),
        ("no_answer", 1, 1),
        ("no_session", 7, 7),
    ]


def test_a_published_file_is_as_it_is(tmp_path: Path, inside: Recall, monkeypatch: pytest.MonkeyPatch) -> None:
    """No one can correct its oddities; they are listed, and are no failure."""
    published = Published("LoCoMo", "a place, commit 1", "taken from the file")
    monkeypatch.setitem(PUBLISHED, about(odd_file(tmp_path))["sha256"], published)
    done = inside(tmp_path, "memory", "dataset", "locomo.json")
    assert done.code == 0
    assert done.out.splitlines()[2] == "this is LoCoMo (a place, commit 1; its digest was taken from the file)"
    assert "odd (10):" in done.out
    done = inside(tmp_path, "memory", "dataset", "locomo.json", "--json")
    assert json.loads(done.out)["published"] == published._asdict()


def test_a_file_that_cannot_be_read(tmp_path: Path, inside: Recall) -> None:
    rows = plain("locomo")
    rows[1]["conversation"]["session_3"] = "later"
    write(tmp_path / "locomo.json", "locomo", rows)
    said = "locomo.json: row 2 (conv-2): session_3: expected a list of turns, found the text 'later'"
    assert inside(tmp_path, "memory", "dataset", "locomo.json") == (2, "", f"recall: {said}\n")


def test_other_refusals(tmp_path: Path, inside: Recall) -> None:
    done = inside(tmp_path, "memory", "dataset", "nowhere.json")
    assert done == (
        2,
        "",
        "recall: nowhere.json: cannot be read (No such file or directory); check that it is there and readable\n",
    )
    write(tmp_path / "d.jsonl", "dmr", plain("dmr"))
    done = inside(tmp_path, "memory", "dataset", "d.jsonl", "--dataset", "locomo")
    assert (done.code, done.out) == (2, "")
    assert done.err == "recall: d.jsonl: expected an array of rows, found an object\n"
    assert inside(tmp_path, "memory", "dataset").code == 2
    assert inside(tmp_path, "memory", "sample", "other").code == 2
