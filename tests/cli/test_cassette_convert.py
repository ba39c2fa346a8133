"""`recall cassettes import` and `export`: recordings of other tools become cassettes, and go back."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pytest_recall.replay.cassette_file import Cassette, write_cassette
from pytest_recall.replay.exchange import Exchange, Request, Response
from pytest_recall.replay.formats.vcrpy import export_vcr, import_vcr
from pytest_recall.replay.matching import Rules
from pytest_recall.replay.redaction import Redactor
from pytest_recall.replay.tape import Tape
from tests.cli.conftest import Recall
from tests.cli.samples import files
from tests.cli.shelves import cassette

pytest.importorskip("vcr")

URL = "https://api.test/v1/chat/completions"
JSON = (("content-type", "application/json"),)
DATED = (*JSON, ("date", "Sun, 01 Mar 2026 09:00:00 GMT"))


def call(question: str = "How long?", seq: int = 0, url: str = URL, **more: Any) -> Exchange:
    body = json.dumps({"messages": [{"role": "user", "content": question}]}, separators=(",", ":"))
    given = {"headers": DATED, "chunks": (b'{"text":"One week."}',), **more}
    return Exchange("", seq, "agent", Request("POST", url, JSON, body.encode()), Response(200, "OK", **given))


def lore(*seqs: int) -> str:
    lines = (
        {"seq": seq, "ts": 1_772_355_600_000, "request": {}, "response": {}, "wasStreaming": False} for seq in seqs
    )
    return "".join(json.dumps({**line, "model": "m"}) + "\n" for line in lines)


def recorded(path: Path) -> Cassette:
    return Cassette(path, path.name, Rules())


def test_a_recording_of_vcrpy_becomes_the_cassette_of_a_case(project: Path, inside: Recall) -> None:
    export_vcr([call("one?"), call("two?", 1)], project / "right.yaml")
    done = inside(project, "cassettes", "import", "right.yaml")
    assert done == (0, "eval/cassettes/loans/right.ndjson: 2 calls, recorded on 2026-03-01\n", "")
    cassette = recorded(project / "eval/cassettes/loans/right.ndjson")
    assert cassette.header["case"] == "right"
    assert cassette.header["scenario"] == "loans"
    assert cassette.header["recorded_at"] == "2026-03-01T09:00:00+00:00"
    assert [exchange.request for exchange in cassette.exchanges()] == [call("one?").request, call("two?").request]


def test_what_was_imported_is_served(project: Path, inside: Recall) -> None:
    export_vcr([call()], project / "right.yaml")
    assert inside(project, "cassettes", "import", "right.yaml").code == 0
    cassette = recorded(project / "eval/cassettes/loans/right.ndjson")
    tape = Tape("right", "replay", Rules(), Redactor({}), "record it", cassette)
    served = tape.serve(call().request, "agent")
    assert served is not None
    assert served.response is not None
    assert served.response.body == b'{"text":"One week."}'


def test_the_case_and_its_scenario_can_be_named(project: Path, inside: Recall) -> None:
    export_vcr([call()], project / "old.json")
    assert inside(project, "cassettes", "import", "old.json", "--case", "crash").code == 0
    assert (project / "eval/cassettes/trouble/crash.ndjson").exists()
    given = ("--case", "tests/test_it.py::test_one", "--scenario", "marked")
    assert inside(project, "cassettes", "import", "old.json", *given).code == 0
    (path,) = (project / "eval/cassettes/marked").iterdir()
    assert recorded(path).header["case"] == "tests/test_it.py::test_one"


def test_the_scenario_of_a_case_is_that_of_its_case_file(project: Path, inside: Recall) -> None:
    export_vcr([call()], project / "right.yaml")
    done = inside(project, "cassettes", "import", "right.yaml", "--scenario", "trouble")
    assert (done.code, done.err) == (
        2,
        "recall: right.yaml: `right` is in the scenario `loans`, and no run would read its cassette under `trouble`;"
        " leave out --scenario\n",
    )
    assert not (project / "eval/cassettes").exists()
    assert inside(project, "cassettes", "import", "right.yaml", "--scenario", "loans").code == 0


def test_a_folder_that_is_not_there_is_made(project: Path, inside: Recall) -> None:
    export_vcr([call()], project / "right.yaml")
    done = inside(project, "cassettes", "import", "right.yaml", "--cassettes", "eval/new/ones")
    assert done == (0, "eval/new/ones/loans/right.ndjson: 1 call, recorded on 2026-03-01\n", "")
    assert len(recorded(project / "eval/new/ones/loans/right.ndjson")) == 1


def test_a_case_is_exported_by_its_id(project: Path, inside: Recall) -> None:
    cassette(project)
    done = inside(project, "cassettes", "export", "right", "out.yaml")
    assert done == (0, "out.yaml: 1 call\n", "")


def test_lore(project: Path, inside: Recall) -> None:
    (project / "right.ndjson").write_text(lore(0, 1), encoding="utf-8")
    done = inside(project, "cassettes", "import", "right.ndjson", "--url", URL)
    assert done == (0, "eval/cassettes/loans/right.ndjson: 2 calls, recorded on 2026-03-01\n", "")
    urls = {exchange.request.url for exchange in recorded(project / "eval/cassettes/loans/right.ndjson").exchanges()}
    assert urls == {URL}


def test_a_session_of_lore_that_ends_early_is_told(project: Path, inside: Recall) -> None:
    answer = {"content": [{"type": "tool_use", "id": "t1", "name": "bash", "input": {}}]}
    (project / "right.ndjson").write_text(lore(0).replace('"response": {}', f'"response": {json.dumps(answer)}'))
    done = inside(project, "cassettes", "import", "right.ndjson")
    assert (done.code, done.out) == (0, "eval/cassettes/loans/right.ndjson: 1 call, recorded on 2026-03-01\n")
    assert done.err == (
        "recall: note: right.ndjson:1: asks for the tool `bash`, and no later call answers it;"
        " the recording may have ended before its session did\n"
    )


def test_a_folder(project: Path, inside: Recall) -> None:
    """What can be taken is taken; each of the others is a line, and CI sees by the exit code that there are any."""
    old = project / "old"
    (old / "more").mkdir(parents=True)
    export_vcr([call("one?"), call("two?", 1)], old / "right.yaml")
    export_vcr([call(), call("mine is sk-" + "aB3dE5gH7jK9mN1pQ2rS4tU6", 1)], old / "worse.yaml")
    export_vcr([call()], old / "more" / "right.yaml")
    export_vcr([call()], old / "more" / "crash.json")
    (old / "no-case.ndjson").write_text(lore(0), encoding="utf-8")
    (old / "README.md").write_text("Recordings.\n", encoding="utf-8")
    done = inside(project, "cassettes", "import", "old")
    assert (done.code, done.out) == (1, "2 of 5 files imported, 2 calls; 3 refused\n")
    first, second, third = done.err.splitlines()
    assert first.startswith("recall: old/no-case.ndjson: no case file has `no-case`; known: crash, later, right")
    assert second == "recall: old/right.yaml: is named as old/more/right.yaml; import it alone, with --case"
    assert third.startswith("recall: old/worse.yaml: call 2 holds what looks like an OpenAI key")
    assert sorted(path.name for path in (project / "eval/cassettes").rglob("*.ndjson")) == [
        "crash.ndjson",
        "right.ndjson",
    ]


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        ((), 2, "0 of 1 file imported, 0 calls; 1 refused\n"),
        (("--scenario", "old"), 0, "1 of 1 file imported, 1 call; 0 refused\n"),
    ],
)
def test_the_exit_code_of_a_folder(
    project: Path, inside: Recall, options: tuple[str, ...], code: int, said: str
) -> None:
    (project / "old").mkdir()
    export_vcr([call()], project / "old" / "test_it[one].yaml")
    assert inside(project, "cassettes", "import", "old", *options)[:2] == (code, said)


def test_without_a_date_the_file_says_when(project: Path, inside: Recall) -> None:
    source = project / "right.yaml"
    export_vcr([call(headers=JSON)], source)
    when = datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC).timestamp()
    os.utime(source, (when, when))
    assert inside(project, "cassettes", "import", "right.yaml").out.endswith("recorded on 2026-02-03\n")


def test_known_secrets_are_replaced(project: Path, inside: Recall, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "aVerySecretValue")
    leaking = call("is it aVerySecretValue?", url=f"{URL}?key=other", chunks=(b'{"text":"aVerySecretValue"}',))
    request = leaking.request._replace(headers=(*JSON, ("authorization", "Bearer aVerySecretValue")))
    export_vcr([leaking._replace(request=request)], project / "right.yaml")
    assert inside(project, "cassettes", "import", "right.yaml").code == 0
    path = project / "eval/cassettes/loans/right.ndjson"
    assert b"aVerySecretValue" not in path.read_bytes()
    (kept,) = recorded(path).exchanges()
    assert kept.request.url == f"{URL}?key=[REDACTED]"
    assert kept.request.headers == JSON
    assert b"is it [OPENAI_API_KEY]?" in kept.request.body


def test_what_looks_like_a_key_is_not_written(project: Path, inside: Recall) -> None:
    key = "sk-" + "aB3dE5gH7jK9mN1pQ2rS4tU6"
    export_vcr([call(), call(f"mine is {key}", 1)], project / "right.yaml")
    before = files(project)
    done = inside(project, "cassettes", "import", "right.yaml")
    assert done.code == 2
    assert done.err.startswith(
        "recall: right.yaml: call 2 holds what looks like an OpenAI key in a part of a request body;"
    )
    assert key not in done.err
    assert files(project) == before


def test_a_cassette_is_not_overwritten(project: Path, inside: Recall) -> None:
    export_vcr([call()], project / "right.yaml")
    assert inside(project, "cassettes", "import", "right.yaml").code == 0
    before = files(project)
    done = inside(project, "cassettes", "import", "right.yaml")
    assert (done.code, done.err) == (
        2,
        "recall: right.yaml: eval/cassettes/loans/right.ndjson is there already; remove it first\n",
    )
    assert files(project) == before


@pytest.mark.parametrize("target", ["out.yaml", "out.json"])
def test_export_and_import_again(project: Path, inside: Recall, target: str) -> None:
    path = project / "eval/cassettes/loans/right.ndjson"
    write_cassette(path, {"case": "right"}, [call("one?"), call("two?", 1)], Rules())
    done = inside(project, "cassettes", "export", "eval/cassettes/loans/right.ndjson", target)
    assert done == (0, f"{target}: 2 calls\n", "")
    assert import_vcr(project / target) == [call("one?"), call("two?", 1)]
