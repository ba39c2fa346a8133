"""`recall memory verify`: a table that a third party can compute again."""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_recall.cli import main
from pytest_recall.datasets import verifying
from pytest_recall.datasets.bundle import ABOUT
from pytest_recall.datasets.bundle_file import MOST_FILES
from pytest_recall.datasets.cases import metrics_of
from tests.datasets.bundles import TABLE, rewritten
from tests.datasets.files import few, write
from tests.helpers.dataset_samples import sample_text


@pytest.fixture
def bundled(tmp_path: Path) -> Path:
    """A folder with the bundle of a run, `b.zip`."""
    shutil.copy(TABLE, tmp_path / "b.zip")
    return tmp_path


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "mine.json", "locomo", few())


@pytest.mark.usefixtures("bundled")
def test_all_that_goes_by_evidence_is_computed_again_without_the_texts(capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["memory", "verify", "b.zip"]) == 0
    captured = capsys.readouterr()
    assert captured.out.splitlines()[:3] == [
        "runs/1 (sqlite-fts): 7 questions, 7 metrics computed again",
        "runs/2 (last-20): 7 questions, 6 metrics computed again",
        "tests against the first memory: 1 pair tested again",
    ]
    assert captured.out.endswith("\nholds\n")
    assert main(["memory", "verify", "b.zip", "--json"]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert (plain["holds"], [run["memory"] for run in plain["runs"]]) == (True, ["sqlite-fts", "last-20"])
    assert "not computed again, as texts are missing: contains, contains_at_k, token_f1, tokens_read" in captured.err
    assert main(["memory", "verify", "b.zip", "--data", "mine.json"]) == 0
    captured = capsys.readouterr()
    assert "runs/1 (sqlite-fts): 7 questions, 11 metrics computed again" in captured.out
    assert "runs/2 (last-20): 7 questions, 10 metrics computed again" in captured.out
    assert captured.err == ""


@pytest.mark.usefixtures("bundled")
def test_a_metric_that_needs_a_package_is_left_out_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen, _ = metrics_of("locomo", False)
    monkeypatch.setattr(verifying, "metrics_of", lambda *_: (chosen - {"locomo_f1"}, "locomo_f1 is left out"))
    capsys.readouterr()
    assert main(["memory", "verify", "b.zip", "--data", "mine.json"]) == 0
    assert capsys.readouterr().err == "recall: locomo_f1 is left out\n"


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        (ABOUT, lambda text: text.replace('"value": 0.88', '"value": 0.98', 1), "is told as 0.98"),
        (
            "runs/1/trials.jsonl",
            lambda text: text.replace('"evidence_hit_at_k": 1.0', '"evidence_hit_at_k": 0.0', 1),
            "1 question whose values are not reproduced: conv-1:q",
        ),
        (
            "runs/1/trials.jsonl",
            lambda text: text.replace('"ids": ["', '"ids": ["X", "', 1),
            "1 question whose values are not reproduced: conv-1:q",
        ),
        (ABOUT, lambda text: text.replace('"k": 10', '"k": 9', 1), "k was 9"),
        (
            "runs/1/trials.jsonl",
            lambda text: re.sub('"memory_recall_seconds": [0-9.e-]+', '"memory_recall_seconds": 5.0', text),
            "measured latency p50 is told as ",
        ),
    ],
)
def test_what_was_changed_is_found_also_with_a_new_manifest(
    capsys: pytest.CaptureFixture[str], bundled: Path, name: str, change: Callable[[str], str], said: str
) -> None:
    rewritten(bundled / "b.zip", name, change, hashed=True)
    capsys.readouterr()
    assert main(["memory", "verify", "b.zip"]) == 1
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.out.endswith("does not hold\n")


def test_tests_and_floors_are_computed_again(capsys: pytest.CaptureFixture[str], bundled: Path) -> None:
    whole = (bundled / "b.zip").read_bytes()
    rewritten(bundled / "b.zip", ABOUT, lambda text: text.replace('"higher": []', '"higher": ["x"]', 1), hashed=True)
    capsys.readouterr()
    assert main(["memory", "verify", "b.zip"]) == 1
    assert "recall: tests against the first memory: " in capsys.readouterr().err
    (bundled / "b.zip").write_bytes(whole)

    def better(text: str) -> str:
        return re.sub(r'(\{"random": \{"evidence_recall_at_k": )[0-9.]+', r"\g<1>0.01", text, count=1)

    rewritten(bundled / "b.zip", "runs/1/trials.jsonl", better, hashed=True)
    assert main(["memory", "verify", "b.zip", "--data", "mine.json"]) == 1
    assert "runs/1 (sqlite-fts): 1 question whose floors are not reproduced: conv-" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("trial", "the journal has 6 of 7 questions: conv-1:q1 is missing"),
        ("question", "1 question of which the journal does not say what was asked: conv-1:q1"),
    ],
)
def test_a_line_that_is_gone_is_one_sentence(
    capsys: pytest.CaptureFixture[str], bundled: Path, kind: str, said: str
) -> None:
    def without(text: str) -> str:
        lines = text.splitlines(keepends=True)
        del lines[next(place for place, line in enumerate(lines) if json.loads(line)["kind"] == kind)]
        return "".join(lines)

    rewritten(bundled / "b.zip", "runs/1/trials.jsonl", without, hashed=True)
    capsys.readouterr()
    assert main(["memory", "verify", "b.zip"]) == 1
    of_it = [line for line in capsys.readouterr().err.splitlines() if "runs/1" in line]
    assert of_it == [f"recall: runs/1 (sqlite-fts): {said}"]


def test_a_question_that_the_dataset_has_otherwise_is_found(capsys: pytest.CaptureFixture[str], bundled: Path) -> None:
    rewritten(
        bundled / "b.zip",
        "runs/1/trials.jsonl",
        lambda text: text.replace('"category": "temporal"', '"category": "single-hop"', 1),
        hashed=True,
    )
    capsys.readouterr()
    main(["memory", "verify", "b.zip"])
    assert "otherwise" not in capsys.readouterr().err
    assert main(["memory", "verify", "b.zip", "--data", "mine.json"]) == 1
    assert "runs/1 (sqlite-fts): 1 question that the dataset has otherwise: conv-1:q" in capsys.readouterr().err


@pytest.mark.usefixtures("bundled")
@pytest.mark.parametrize("command", [("memory", "rescore"), ("memory", "misses"), ("report",)])
def test_a_bundle_is_no_folder_of_a_run(capsys: pytest.CaptureFixture[str], command: tuple[str, ...]) -> None:
    Path("eval").mkdir()
    assert main([*command, "b.zip"]) in (2, 4)
    told = "b.zip: is a bundle of runs, and no folder of one; `recall memory verify b.zip` prints the tables"
    assert told in capsys.readouterr().err


def test_an_unpacked_bundle_without_texts_is_not_told_to_have_changed(
    capsys: pytest.CaptureFixture[str], bundled: Path
) -> None:
    with zipfile.ZipFile(bundled / "b.zip") as archive:
        archive.extractall(bundled)
    assert main(["memory", "rescore", "runs/1"]) == 2
    assert "recall: runs/1: is of a bundle without texts" in capsys.readouterr().err


def test_a_changed_byte_is_found_by_its_hash(capsys: pytest.CaptureFixture[str], bundled: Path) -> None:
    rewritten(bundled / "b.zip", "runs/2/trials.jsonl", lambda text: text.replace("D1:4", "D1:5", 1), hashed=False)
    capsys.readouterr()
    main(["memory", "verify", "b.zip"])
    assert "recall: runs/2/trials.jsonl has changed since" in capsys.readouterr().err
    rewritten(bundled / "b.zip", "runs/1/trials.jsonl", lambda text: text[:-20] + "{", hashed=False)
    assert main(["memory", "verify", "b.zip"]) == 1
    told = "recall: runs/1/trials.jsonl has changed since\nrecall: runs/2/trials.jsonl has changed since\n"
    assert capsys.readouterr().err == told


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("gone.zip",), "gone.zip: is not there"),
        (("mine.json",), "mine.json: cannot be read as a bundle (File is not a zip file)"),
        (("other.zip",), "other.zip: is not a bundle of runs"),
        (("many.zip",), "many.zip: is larger than a bundle of runs; it holds at most 1 GiB in 1,000 files"),
        (("b.zip", "--data", "gone.json"), "gone.json"),
        (("b.zip", "--data", "other.json"), "its runs are over another file than --data"),
    ],
)
def test_mistakes_are_one_sentence(
    capsys: pytest.CaptureFixture[str], bundled: Path, more: tuple[str, ...], said: str
) -> None:
    with zipfile.ZipFile(bundled / "other.zip", "w") as archive:
        archive.writestr("x", "y")
    with zipfile.ZipFile(bundled / "many.zip", "w") as archive:
        for number in range(MOST_FILES + 1):
            archive.writestr(str(number), "")
    (bundled / "other.json").write_text(sample_text("longmemeval"), encoding="utf-8")
    capsys.readouterr()
    assert main(["memory", "verify", *more]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "change", "code", "said"),
    [
        (ABOUT, lambda text: text.replace('"k": 10,', "", 1), 1, "k was None"),
        (ABOUT, lambda text: text.replace('"folder": "runs/1"', '"folder": ".."', 1), 2, "is not a bundle of runs"),
        (
            "runs/1/trials.jsonl",
            lambda text: '{"kind": "run"}\n',
            2,
            "b.zip: runs/1/trials.jsonl:1: not a journal line",
        ),
        (ABOUT, lambda text: text.replace('"version": 1', '"version": 9', 1), 2, "version 9 of bundles is not known"),
        (ABOUT, lambda text: json.dumps({**json.loads(text), "together": 3}), 2, "not a bundle of runs (together)"),
        (ABOUT, lambda text: json.dumps({**json.loads(text), "against_first": 3}), 2, "of runs (against_first)"),
        ("runs/1/trials.jsonl", lambda text: text + "x", 2, "b.zip: a line of its journal is no JSON"),
    ],
)
def test_what_nothing_of_ours_has_written_is_a_sentence(
    capsys: pytest.CaptureFixture[str], bundled: Path, name: str, change: Callable[[str], str], code: int, said: str
) -> None:
    rewritten(bundled / "b.zip", name, change, hashed=True)
    capsys.readouterr()
    assert main(["memory", "verify", "b.zip"]) == code
    assert said in capsys.readouterr().err


def test_a_bundle_is_unpacked_nowhere_else(capsys: pytest.CaptureFixture[str], bundled: Path) -> None:
    rewritten(bundled / "b.zip", ABOUT, lambda text: text.replace('"runs/1"', '"../x"', 1), hashed=True)
    with zipfile.ZipFile(bundled / "b.zip", "a") as archive:
        archive.writestr("../x/trials.jsonl", archive.read("runs/1/trials.jsonl"))
    before = set(bundled.parent.rglob("x"))
    capsys.readouterr()
    assert main(["memory", "verify", "b.zip"]) == 1
    assert "../x/trials.jsonl is not in MANIFEST.sha256" in capsys.readouterr().err
    assert set(bundled.parent.rglob("x")) == before
