"""`recall memory run --bundle` and `recall memory verify`: a table that a third party can compute again."""

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
from pytest_recall.datasets.bundle import ABOUT, MANIFEST, manifest_of
from pytest_recall.datasets.bundle_file import MOST_FILES
from pytest_recall.datasets.cases import metrics_of
from pytest_recall.datasets.file import sample_text
from tests.cli.samples import Made, made_by
from tests.cli.test_membench import FIRST
from tests.cli.test_membench_judge import MEMORY
from tests.datasets.files import few, write, write_few
from tests.helpers.scripted import JUDGE

RUN = ("memory", "run", "mine.json", "--memory", "sqlite-fts,last-20", "--out", "o", "--bundle", "b.zip")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A folder with the run `o` and its bundle `b.zip`."""
    folder = tmp_path_factory.mktemp("bundle")
    write(folder / "mine.json", "locomo", few())
    return made_by(folder, *RUN)


@pytest.fixture
def bundled(made: Made, tmp_path: Path) -> Path:
    """A folder with the bundle of a run, `b.zip`."""
    shutil.copy(made.folder / "b.zip", tmp_path)
    return tmp_path


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "mine.json", "locomo", few())


def rewritten(path: Path, name: str, change: Callable[[str], str], *, hashed: bool) -> None:
    """Change a file of the bundle, with a manifest that fits or not."""
    with zipfile.ZipFile(path) as archive:
        contents = {one: archive.read(one) for one in archive.namelist()}
    changed = change(contents[name].decode())
    assert changed != contents[name].decode()
    contents[name] = changed.encode()
    if hashed:
        del contents[MANIFEST]
        contents[MANIFEST] = manifest_of(contents).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for one, data in contents.items():
            archive.writestr(one, data)


def test_texts_of_locomo_stay_at_home(made: Made) -> None:
    assert "with ids and digests in place of the dataset's texts (CC BY-NC 4.0)" in made.err
    said = {turn["text"] for row in few() for turn in row["conversation"]["session_1"]}
    with zipfile.ZipFile(made.folder / "b.zip") as archive:
        whole = "".join(archive.read(name).decode() for name in archive.namelist())
    assert not [text for text in said if text in whole]
    assert "boat called" not in whole
    assert '"D1:4"' in whole


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


@pytest.mark.parametrize("with_texts", [False, True])
def test_a_bundle_holds_what_its_table_says(
    capsys: pytest.CaptureFixture[str], made: Made, tmp_path: Path, bundled: Path, *, with_texts: bool
) -> None:
    shutil.copytree(made.folder / "o", tmp_path / "o")
    if with_texts:
        assert main([*RUN, "--bundle-texts"]) == 0
    with zipfile.ZipFile(tmp_path / "b.zip") as archive:
        about = json.loads(archive.read(ABOUT))
    assert about["texts"] is with_texts
    assert main(["memory", "rescore", str(next((tmp_path / "o").glob("sqlite*"))), "--json"]) == 0
    out = capsys.readouterr().out
    figures = about["runs"][0]["figures"]
    assert set(figures.pop("measured")) == {"latency", "ingest", "readback"}
    assert json.loads(out[out.index("{") :])["k"]["10"] == figures


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


@pytest.mark.usefixtures("bundled")
def test_the_table_is_printed_as_it_was_published(capsys: pytest.CaptureFixture[str], made: Made) -> None:
    assert main(["memory", "verify", "b.zip", "--data", "mine.json"]) == 0
    assert made.out in capsys.readouterr().out


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


def test_verdicts_of_a_model_are_read_again(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "client.py").write_text(MEMORY)
    (tmp_path / "judge.py").write_text(JUDGE)
    run = ("memory", "run", "--dataset", "longmemeval", "sample", "--memory", "python:client.py:Kept")
    assert main([*run, "--judge", "python:judge.py:oracle", "--out", "o", "--bundle", "b.zip"]) == 0
    assert main(["memory", "verify", "b.zip"]) == 0
    rewritten(
        tmp_path / "b.zip",
        "runs/1/trials.jsonl",
        lambda text: text.replace('"longmemeval_judge":0.0', '"longmemeval_judge":1.0', 1),
        hashed=True,
    )
    capsys.readouterr()
    assert main(["memory", "verify", "b.zip"]) == 1
    assert "1 question judged otherwise than its verdict" in capsys.readouterr().err


READER = """
from pytest_recall.models.model import Reply


class Said:
    def ask(self, ask):
        return Reply(text="right, " + ask.messages[-1].content[:80])


said = Said()
"""
BY = {
    "passages": ("--memory", "sqlite-fts"),
    "answers": ("--memory", "python:client.py:Kept"),
    "reader": ("--memory", "sqlite-fts", "--reader", "python:reader.py:said"),
}


@pytest.mark.parametrize(
    ("by", "judged", "more"),
    [
        ("answers", False, ()),
        ("answers", True, ()),
        ("reader", False, ()),
        ("reader", True, ("--accumulate",)),
        ("reader", True, ("--repeat", "2")),
        ("passages", False, ("--k", "60", "--unit", "session", "--accumulate")),
    ],
)
def test_each_kind_of_run_holds_with_its_texts_and_without(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, by: str, *, judged: bool, more: tuple[str, ...]
) -> None:
    write_few(tmp_path)
    for name, source in (("client.py", MEMORY), ("reader.py", READER), ("judge.py", JUDGE)):
        (tmp_path / name).write_text(source)
    judge = ("--judge", "python:judge.py:oracle") if judged else ()
    more = (*more, "--out", "o")
    for texts in ((), ("--bundle-texts",)):
        assert main(["memory", "run", "few.json", *BY[by], *judge, *more, *texts, "--bundle", "b.zip"]) == 0
        for data in ((), ("--data", "few.json")):
            capsys.readouterr()
            assert main(["memory", "verify", "b.zip", *data]) == 0
            captured = capsys.readouterr()
            assert captured.out.endswith("holds\n")
            if by != "answers" and (texts or data):
                assert "contains_at_k" not in captured.err
    # A verdict has the passages of its answer.
    lines = [json.loads(line) for line in (tmp_path / "o" / "trials.jsonl").read_text().splitlines()]
    answers = [one["answer"] for one in lines if any(verdict.get("panel") for verdict in one.get("verdicts") or ())]
    assert len(answers) == (5 if judged else 0)
    assert by == "answers" or all(one["passages"] for one in answers)


def test_answers_that_are_not_there_are_not_computed_again(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        f"{FIRST}\n    def answer(self, query, limit, context):\n        return 'Heron'\n"
    )
    run = ("memory", "run", "mine.json", "--memory", "python:mine.py:Memory", "--out", "o", "--bundle", "b.zip")
    assert main(run) == 0
    assert main(["memory", "verify", "b.zip", "--data", "mine.json"]) == 0
    captured = capsys.readouterr()
    assert "answer_contains" in captured.err
    assert "contains_at_k" not in captured.err
    with zipfile.ZipFile(tmp_path / "b.zip") as archive:
        assert "Heron" not in archive.read("runs/1/trials.jsonl").decode()


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


def test_no_other_file_is_replaced_by_a_bundle(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "few.json").write_text("[]", encoding="utf-8")
    assert main(["memory", "run", "few.json", "--bundle", "few.json"]) == 2
    told = "recall: few.json: is there already, and is no bundle of runs; give another file, or delete it\n"
    assert capsys.readouterr() == ("", told)
    assert (tmp_path / "few.json").read_text(encoding="utf-8") == "[]"


def test_texts_are_about_a_bundle(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["memory", "run", "mine.json", "--bundle-texts"]) == 2
    assert "--bundle-texts is about a bundle" in capsys.readouterr().err
