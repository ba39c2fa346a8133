"""`recall memory run --accumulate`: one store that grows over the conversations of a dataset."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_recall.cli import main
from tests.cli.test_membench import found, trials
from tests.cli.test_membench_at_once import Busy, timeless, untimed
from tests.datasets.files import write_few
from tests.memory.services import serving

GROWING = ("--accumulate", "--out")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def twins(path: Path) -> None:
    """Write two conversations with the same ids and words, and a question about the boat of each."""
    turns = [("D1:1", "My boat is called Heron."), ("D1:2", "A fine boat!")]
    conversation = {
        "speaker_a": "Ana",
        "speaker_b": "Ben",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [{"speaker": "Ana", "dia_id": id, "text": text} for id, text in turns],
    }
    asked = {"question": "What is the boat called?", "answer": "Heron", "evidence": ["D1:1"]}
    rows = [
        {"sample_id": name, "conversation": conversation, "qa": [{**asked, "category": category}]}
        for name, category in (("one", 4), ("two", 2))
    ]
    path.write_text(json.dumps(rows))


FIRST = """
class First:
    private = True
    concurrent = True
    def reset(self): self.kept = []
    def store(self, content, metadata): self.kept.append({"text": content, "source": metadata["id"]})
    def recall(self, query, limit, context): return self.kept[:limit]
    def count(self): return len(self.kept)
class Nameless(First):
    def store(self, content, metadata): self.kept.append({"text": content})
class Newest(First):
    def recall(self, query, limit, context): return self.kept[::-1][:limit]
"""


def recalls(plain: dict[str, Any]) -> list[float | None]:
    named = ("single-hop", "temporal")
    return [plain["categories"][name]["metrics"]["evidence_recall_at_k"]["value"] for name in named]


def test_what_was_said_in_another_conversation_is_no_evidence(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    twins(tmp_path / "twins.json")
    (tmp_path / "first.py").write_text(FIRST)

    def asked(name: str, *more: str) -> dict[str, Any]:
        command = ["memory", "run", "twins.json", "--k", "2", "--memory", f"python:first.py:{name}", "--json"]
        assert main([*command, "--out", name + "".join(more), *more]) == 0
        plain: dict[str, Any] = json.loads(capsys.readouterr().out)
        return plain

    assert recalls(asked("First")) == [1, 1]
    assert recalls(asked("First", "--accumulate")) == [1, 0], "the same words, and another conversation's"
    assert recalls(asked("Newest", "--accumulate")) == [1, 1]
    assert recalls(asked("Nameless", "--accumulate")) == [1, 0], "of equal texts the one that was told first is meant"
    evidence = [json.loads(line) for line in Path("First--accumulate/trials.jsonl").read_text().splitlines()]
    assert [one["evidence"] for one in evidence if one["kind"] == "question"] == [["one#D1:1"], ["two#D1:1"]]
    # A conversation about which nothing is asked is told as well.
    plain = asked("Newest", "--accumulate", "--categories", "temporal")
    assert plain["ingest"]["conversations"] == 2
    assert (plain["readback"]["stored"], plain["readback"]["held"]) == (4, 4)


def test_conversations_are_told_one_after_the_other_into_one_store(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    service = Busy()
    with serving(service):
        one = found(capsys, "--memory", service.url, *GROWING, "one")
        assert service.most == 1
        single = [*service.asked]
        service.asked.clear()
        several = found(capsys, "--memory", service.url, *GROWING, "several", "--concurrency", "6")
    assert 1 < service.most <= 6
    assert not service.broken
    assert timeless(several) == timeless(one)
    assert untimed(tmp_path / "several") == untimed(tmp_path / "one")
    assert (one["accumulate"], one["ingest"]["conversations"], one["readback"]["held"]) == (True, 2, 49)
    assert service.stores == {}, "no conversation has a store of its own"
    for calls in (single, service.asked):
        order = [path for path, _ in calls if path in ("POST /reset", "POST /store", "POST /recall")]
        assert order.count("POST /store") == 49
        assert (order[0], order[-1], order.count("POST /reset")) == ("POST /reset", "POST /reset", 2)
        told = [given["metadata"] for path, given in calls if path == "POST /store"]
        names = [about["conversation"] for about in told]
        assert names == sorted(names)
        assert all(about["id"].startswith(f"{about['conversation']}#D") for about in told)
        assert all(about["session"].startswith(f"{about['conversation']}#") for about in told)
        begin = next(place for place, (_, given) in enumerate(calls) if "conv-2" in str(given))
        asked = [given["query"] for path, given in calls[:begin] if path == "POST /recall"]
        assert "What is Tobias's boat called?" in asked
        assert len(asked) == 11 + 4, "all about the first one, and what is asked back"
    ids = {one["source"] for line in trials(tmp_path / "one")[11:] for one in line["answer"]["passages"]}
    assert {id.partition("#")[0] for id in ids} == {"conv-1", "conv-2"}


def test_the_table_the_comparison_and_the_journal_say_so(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    write_few(tmp_path)
    run = ("memory", "run", "few.json")
    assert main([*run, *GROWING, "growing"]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert first.endswith("stored by the turn, accumulate: one store for all conversations")
    assert main([*run, "--out", "growing"]) == 2
    said = "recall: growing: holds another run: `accumulate` was True and is False; name another --out"
    assert capsys.readouterr().err.startswith(said)
    assert main([*run, "--out", "apart"]) == 0
    capsys.readouterr()
    assert main(["compare", "apart", "growing"]) == 0
    out = capsys.readouterr().out
    assert (
        "\nHEAD growing: sqlite-fts on locomo (few.json), 10 passages, stored by the turn, accumulate: one store" in out
    )
    assert "\nasked otherwise in accumulate, so that the memory is not all that BASE and HEAD differ in" in out
    assert main([*run, "--accumulate", "--memory", "sqlite-fts,null"]) == 0
    assert "stored by the turn, accumulate: one store for all" in capsys.readouterr().out.splitlines()[0]
    assert main([*run, "--accumulate", "--dry-run"]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert first.endswith("stored by the turn, accumulate: one store for all conversations")
