"""The script that writes bundles: what it writes of each kind of run holds, and has the texts that may be in it."""

from __future__ import annotations

import json
import re
import sys
import zipfile
from pathlib import Path

import pytest

from pytest_recall.cli import main
from pytest_recall.datasets.bundle import ABOUT
from tests.cli.samples import Made, made_by
from tests.cli.test_membench_judge import MEMORY
from tests.datasets.bundles import SCRIPT, rewritten, write_bundle
from tests.datasets.files import few, write, write_few
from tests.helpers.scripted import JUDGE
from tests.helpers.scripts import loaded

RUN = ("memory", "run", "mine.json", "--memory", "sqlite-fts,last-20", "--out", "o")
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


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A folder with the run `o` of two memories."""
    folder = tmp_path_factory.mktemp("bundle")
    write(folder / "mine.json", "locomo", few())
    return made_by(folder, *RUN)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "mine.json", "locomo", few())


def runs(made: Made) -> list[Path]:
    return [next((made.folder / "o").glob(f"{name}*")) for name in ("sqlite-fts", "last-20")]


def written(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr(sys, "argv", ["write_bundle.py", *map(str, arguments)])
    code: int = loaded(SCRIPT).main()
    return code


def test_texts_of_locomo_stay_at_home(
    made: Made, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert written(monkeypatch, "b.zip", *runs(made)) == 0
    assert capsys.readouterr().out == "b.zip: written, without the texts of the dataset\n"
    said = {turn["text"] for row in few() for turn in row["conversation"]["session_1"]}
    with zipfile.ZipFile("b.zip") as archive:
        whole = "".join(archive.read(name).decode() for name in archive.namelist())
    assert not [text for text in said if text in whole]
    assert "boat called" not in whole
    assert '"D1:4"' in whole


@pytest.mark.parametrize("texts", [(), ("--texts",)])
def test_a_bundle_holds_what_its_table_says(
    capsys: pytest.CaptureFixture[str], made: Made, monkeypatch: pytest.MonkeyPatch, texts: tuple[str, ...]
) -> None:
    assert written(monkeypatch, "b.zip", *runs(made), *texts) == 0
    with zipfile.ZipFile("b.zip") as archive:
        about = json.loads(archive.read(ABOUT))
    assert about["texts"] is bool(texts)
    assert main(["memory", "rescore", str(runs(made)[0]), "--json"]) == 0
    out = capsys.readouterr().out
    figures = about["runs"][0]["figures"]
    assert set(figures.pop("measured")) == {"latency", "ingest", "readback"}
    assert json.loads(out[out.index("{") :])["k"]["10"] == figures
    assert main(["memory", "verify", "b.zip", "--data", "mine.json"]) == 0
    assert made.out in capsys.readouterr().out


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
    assert main(["memory", "run", "few.json", *BY[by], *judge, *more, "--out", "o"]) == 0
    for texts in (False, True):
        write_bundle(Path("b.zip"), Path("o"), texts=texts)
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


def test_of_a_repeated_run_the_figures_of_all_ingests_together_are_in_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["memory", "run", "mine.json", "--repeat", "2", "--out", "o", "--json"]) == 0
    whole = json.loads(capsys.readouterr().out)
    write_bundle(Path("b.zip"), Path("o"))
    assert main(["memory", "verify", "b.zip"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert (told[2], told[-1]) == ("all ingests together: 2 runs", "holds")
    with zipfile.ZipFile("b.zip") as archive:
        together = json.loads(archive.read(ABOUT))["together"]
    assert together.items() >= {"all": whole["all"], "categories": whole["categories"]}.items()

    def otherwise(text: str) -> str:
        about = json.loads(text)
        about["together"]["all"]["metrics"]["evidence_recall_at_k"]["value"] += 0.1
        return json.dumps(about)

    rewritten(Path("b.zip"), ABOUT, otherwise, hashed=True)
    assert main(["memory", "verify", "b.zip"]) == 1
    assert "all ingests together: all metrics evidence_recall_at_k value is told as" in capsys.readouterr().err


def test_verdicts_of_a_model_are_read_again(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "client.py").write_text(MEMORY)
    (tmp_path / "judge.py").write_text(JUDGE)
    run = ("memory", "run", "--dataset", "longmemeval", "sample", "--memory", "python:client.py:Kept")
    assert main([*run, "--judge", "python:judge.py:oracle", "--out", "o"]) == 0
    write_bundle(Path("b.zip"), Path("o"))
    assert main(["memory", "verify", "b.zip"]) == 0
    rewritten(
        tmp_path / "b.zip",
        "runs/1/trials.jsonl",
        lambda text: re.sub(r'"longmemeval_judge": ?0\.0', '"longmemeval_judge":1.0', text, count=1),
        hashed=True,
    )
    capsys.readouterr()
    assert main(["memory", "verify", "b.zip"]) == 1
    assert "1 question judged otherwise than its verdict" in capsys.readouterr().err


FIRST = """
class Memory:
    private = True

    def reset(self):
        self.told = []

    def store(self, content, metadata):
        self.told.append(content)

    def recall(self, query, limit, context):
        return self.told[:limit]

    def answer(self, query, limit, context):
        return "Heron"
"""


def test_answers_that_are_not_there_are_not_computed_again(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(FIRST)
    assert main(["memory", "run", "mine.json", "--memory", "python:mine.py:Memory", "--out", "o"]) == 0
    write_bundle(Path("b.zip"), Path("o"))
    assert main(["memory", "verify", "b.zip", "--data", "mine.json"]) == 0
    captured = capsys.readouterr()
    assert "answer_contains" in captured.err
    assert "contains_at_k" not in captured.err
    with zipfile.ZipFile(tmp_path / "b.zip") as archive:
        assert "Heron" not in archive.read("runs/1/trials.jsonl").decode()


def test_no_other_file_is_replaced_by_a_bundle(
    made: Made, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = Path("mine.json").read_bytes()
    assert written(monkeypatch, "mine.json", *runs(made)) == 2
    assert "is no bundle of runs" in capsys.readouterr().err
    assert Path("mine.json").read_bytes() == before


def test_what_is_no_run_is_refused(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert written(monkeypatch, "b.zip", "gone") == 2
    assert capsys.readouterr().err.startswith("gone")
    assert not Path("b.zip").exists()
