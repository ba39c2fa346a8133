"""`recall memory run`: what a memory is told of a conversation, and under which names."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from pytest_recall.cli import main
from tests.cli.test_membench import trials
from tests.datasets.bundles import write_bundle
from tests.datasets.files import write_few
from tests.helpers.dataset_samples import sample_text
from tests.memory.services import Service, serving

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
    write_few(tmp_path)


def found(capsys: pytest.CaptureFixture[str], *more: str) -> dict[str, Any]:
    assert main([*RUN, *more, "--json"]) == 0
    plain: dict[str, Any] = json.loads(capsys.readouterr().out)
    return plain


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


RUN = ("memory", "run", "few.json")
SETTINGS = ("--unit", "pair", "--no-captions", "--no-dates")


def test_what_is_told_is_a_setting_of_the_run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_text(sample_text("locomo"))
    run = ("memory", "run", "mine.json", "--memory", "python:spy.py:Spy")
    assert main([*run, *SETTINGS, "--settle", "1", "--out", "o", "--json"]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert [plain[name] for name in ("unit", "captions", "dates", "settle")] == ["pair", False, False, 1]
    assert (plain["ingest"]["units"], plain["readback"]["missing"]) == (25, 0)
    spied = [json.loads(line) for line in (tmp_path / "spied.jsonl").read_text().splitlines()]
    told = [(text, about) for text, about in spied if "session" in about]
    assert not [text for text, about in told if "[image" in text or "date" in about]
    assert told[0][1]["id"] == "D1:1+D1:2"
    # Evidence is the pair, floors return pairs, and all of it is computed again from the journal.
    line = next(one for one in trials(tmp_path / "o") if one["case_id"] == "conv-1:q1")
    assert line["measures"]["evidence_recall_at_k"] == 1
    assert {len(one["source"].split("+")) for one in line["answer"]["passages"]} <= {1, 2}
    assert plain["all"]["floors"]["oracle"]["evidence_recall_at_k"] == 1
    assert main(["memory", "rescore", "o"]) == 0
    write_bundle(Path("b.zip"), Path("o"))
    assert main(["memory", "verify", "b.zip", "--data", "mine.json"]) == 0
    capsys.readouterr()
    assert main(["memory", "misses", "o", "--k", "1"]) == 0
    assert "absent  [D" in (out := capsys.readouterr().out)
    assert "+D" in out.partition("absent  [")[2].partition("]")[0]
    # Another setting is another run.
    assert main([*run, "--out", "o"]) == 2
    assert "`unit` was 'pair' and is 'turn'; `captions` was False and is True" in capsys.readouterr().err
    assert main([*run, "--out", "p"]) == 0
    capsys.readouterr()
    assert main(["compare", "o", "p"]) == 0
    out = capsys.readouterr().out
    assert "stored by the pair, without captions, without dates, asked when it is ready or after 1 s\n" in out
    assert "\nasked otherwise in unit, captions, dates, settle, so that" in out


def test_settings_stand_above_the_table_and_in_the_plan(capsys: pytest.CaptureFixture[str]) -> None:
    told = "stored by the pair, without captions, without dates"
    for more in ((), ("--memory", "sqlite-fts,null"), ("--dry-run",)):
        assert main([*RUN, *SETTINGS, *more]) == 0
        assert capsys.readouterr().out.splitlines()[0].rstrip(":").endswith(told)
    assert found(capsys, "--dry-run", *SETTINGS)["captions"] is False
    assert len(list(Path("eval/_artifacts/membench").iterdir())) == 2
    found(capsys)
    assert len(list(Path("eval/_artifacts/membench").iterdir())) == 3


class Later(Service):
    """A service that finds what it was told a while after that."""

    def __init__(self, seconds: float, *, says: bool = True) -> None:
        super().__init__()
        self.seconds, self.says = seconds, says
        self.health = {} if not says else self.health
        self.told = 0.0

    def reply(self, method: str, path: str, given: Any) -> tuple[int, bytes]:
        if path == "/store":
            self.told = time.monotonic()
        ready = time.monotonic() - self.told >= self.seconds
        if self.says:
            self.health = {"ready": ready}
        if path == "/recall" and not ready:
            return 200, b'{"passages": []}'
        return super().reply(method, path, given)


def recall_of(plain: dict[str, Any]) -> float:
    value: float = plain["all"]["metrics"]["evidence_recall_at_k"]["value"]
    return value


def test_a_store_that_indexes_later_is_waited_for(capsys: pytest.CaptureFixture[str]) -> None:
    with serving(Later(600, says=False)) as never:
        assert recall_of(found(capsys, "--memory", never.url)) == 0, "it is asked at once"
    with serving(Later(0.6)) as says, serving(Later(0.6, says=False)) as silent:
        begin = time.monotonic()
        assert recall_of(found(capsys, "--memory", says.url, "--settle", "1m")) > 0.5
        assert time.monotonic() - begin < 20, "not for longer than until it says that it is ready"
        assert recall_of(found(capsys, "--memory", silent.url, "--settle", "1")) > 0.5
    begin = time.monotonic()
    found(capsys, "--memory", "sqlite-fts", "--settle", "60")
    assert time.monotonic() - begin < 20, "ours have all of it at once"


def test_a_store_that_is_not_ready_in_time_is_no_result(capsys: pytest.CaptureFixture[str]) -> None:
    with serving(Later(600)) as service:
        assert main([*RUN, "--memory", service.url, "--sample", "1", "--settle", "1", "--keep-failed"]) == 1
    out = capsys.readouterr().out
    assert "memory settle: still not ready 1 s after all was stored; raise --settle" in out
