"""`recall memory run`: what a memory is told of a conversation, and under which names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_recall.cli import main
from tests.cli.test_membench import trials

SPY = """
import json
class Spy:
    private = True
    kept = ()
    def note(self, *what):
        with open("spied.jsonl", "a") as file: file.write(json.dumps(what) + "\\n")
    def reset(self): self.kept = []
    def store(self, content, metadata):
        self.note(content, metadata)
        self.kept.append({"text": content, "source": metadata["id"]})
    def recall(self, query, limit, context):
        self.note(query, context.to_json())
        words = set(query.lower().split())
        return sorted(self.kept, key=lambda one: -len(words & set(one["text"].lower().split())))[:limit]
class Sessions(Spy):
    def store(self, content, metadata):
        self.note(content, metadata)
        self.kept.append({"text": content, "source": metadata["session"]})
class Nameless(Spy):
    def store(self, content, metadata):
        self.note(content, metadata)
        self.kept.append(content)
    def recall(self, query, limit, context):
        words = set(query.lower().split())
        return sorted(self.kept, key=lambda one: -len(words & set(one.lower().split())))[:limit]
"""
EVERY = ("memory", "run", "--dataset", "longmemeval", "sample", "--out", "o", "--json")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spy.py").write_text(SPY)


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("Spy", ()),
        ("Spy", ("--unit", "session")),
        ("Spy", ("--accumulate",)),
        ("Spy", ("--concurrency", "4")),
        ("Nameless", ()),
        ("Sessions", ("--unit", "session")),
    ],
)
def test_no_id_says_what_is_evidence(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str, more: tuple[str, ...]
) -> None:
    assert main([*EVERY, "--memory", f"python:spy.py:{name}", *more]) == 0
    plain = json.loads(capsys.readouterr().out)
    spied = (tmp_path / "spied.jsonl").read_text()
    given = [json.loads(line)[1] for line in spied.splitlines()]
    assert not [one for one in given if "answer" in json.dumps(one) or "_abs" in json.dumps(one)]
    assert len({one["session"] for one in given if "session" in one}) > 2
    assert plain["all"]["metrics"]["evidence_recall_at_k"]["value"] > (0.6 if "--accumulate" in more else 0.9)
    assert plain["readback"]["missing"] == 0
    # What is written down has the dataset's own ids.
    line = next(one for one in trials(tmp_path / "o") if one["case_id"] == "lib00001")
    sources = {one["source"].removeprefix("lib00001#") for one in line["answer"]["passages"]}
    assert "session" in more or {"answer_dog_1", "answer_dog_2"} <= sources
    assert "session" not in more or {"answer_dog", "filler_bike"} <= sources
