"""`recall cassettes scan`: planted secrets are found wherever they are, and not told."""

from __future__ import annotations

import base64
import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from pytest_recall.replay.exchange import Exchange, Failure, Request
from tests.cli.conftest import Recall
from tests.cli.samples import files
from tests.cli.shelves import library
from tests.replay.recordings import CHAT, JSON, call, draft, request, response, write

SCAN = ("cassettes", "scan")
SECRET = "wTq8-Zr3+Lm/Pa91"
OLD = "use <Client object at 0x7f3a5c1e8d90>"  # As a recording holds it that was made before addresses were taken out.
KEY = "sk-proj-" + "aZ3kP9qLx7Vb2Rt5Wm8N" * 2


@pytest.fixture(autouse=True)
def _variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with one secret, whatever else it has."""
    for name in list(os.environ):
        if name not in ("PATH", "HOME", "TMPDIR"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("LOANS_API_KEY", SECRET)


def planted(secret: str) -> dict[str, Exchange]:
    """Return a call for each place in which a secret may be, by what the command calls that place."""
    streamed = tuple(f"data: {json.dumps({'text': text})}\n\n".encode() for text in ("a", secret, "b"))
    packed = gzip.compress(json.dumps({"text": secret}).encode())
    return {
        "the URL": call(request=request("a", url=f"{CHAT}?for={secret}")),
        "the request header x-trace": call(request=request("a")._replace(headers=(("x-trace", secret),))),
        "a part of a request body": call(request=request(f"my key is {secret}")),
        "the request body": call(request=Request("POST", CHAT, JSON, json.dumps({"prompt": secret}).encode())),
        "the reason": call(response=response(reason=secret)),
        "the response header x-trace": call(response=response(headers=(("x-trace", secret),))),
        "the response body": call(response=response(f"your key is {secret}")),
        "the response body (streamed)": call(response=response(chunks=streamed, offsets=(0.1, 0.2, 0.3))),
        "the response body (packed)": call(
            response=response(headers=(("content-encoding", "gzip"),), chunks=(packed[:20], packed[20:]))
        ),
        "the response body (binary)": call(response=response(chunks=(b"\xff\xfe" + secret.encode(),))),
        "the failure": call(response=None, failure=Failure("ConnectError", f"no route to {secret}")),
    }


PLACES = sorted(planted(SECRET))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    ("secret", "what"),
    [
        (SECRET, "holds the value of LOANS_API_KEY"),
        (KEY, "holds what looks like an OpenAI key"),
    ],
)
@pytest.mark.parametrize("unfinished", [False, True])
def test_a_planted_secret_is_found(
    project: Path, place: str, secret: str, what: str, unfinished: bool, inside: Recall
) -> None:
    path = library(project).of_case("right", "loans")
    one = planted(secret)[place]
    path = draft(library(project).new_draft(path), one) if unfinished else write(path, one)
    text = path.read_text(encoding="utf-8").splitlines()
    line = next((n for n, line in enumerate(text, 1) if secret in line), len(text) - (not unfinished))
    name = path.relative_to(project).as_posix()
    before = files(project)
    done = inside(project, *SCAN)
    assert done == (
        1,
        f"{name}:{line}: {place.partition(' (')[0]} {what}\n"
        "1 finding: revoke real secrets, delete the recording, and record it again\n",
        "",
    )
    assert json.loads(inside(project, *SCAN, "--json").out) == {
        "variables": ["LOANS_API_KEY"],
        "findings": [{"path": name, "line": line, "part": place.partition(" (")[0], "what": what}],
        "unread": [],
    }
    assert files(project) == before


@pytest.mark.parametrize(
    "spelt",
    [
        "wTq8-Zr3%2BLm%2FPa91",
        json.dumps(SECRET.replace("/", "\\/")).strip('"'),
        base64.b64encode(f"user:{SECRET}".encode()).decode(),
    ],
)
def test_a_secret_in_another_spelling(project: Path, spelt: str, inside: Recall) -> None:
    write(library(project).of_case("right", "loans"), call(response=response(spelt)))
    done = inside(project, *SCAN)
    assert done.code == 1
    assert done.out.startswith(
        "eval/cassettes/loans/right.ndjson:4: the response body holds the value of LOANS_API_KEY\n"
    )


def test_nothing_to_find(project: Path, inside: Recall) -> None:
    path = write(
        library(project).of_case("right", "loans"), call(), call("my key is [LOANS_API_KEY]", seq=1), call(OLD, seq=2)
    )
    draft(library(project).new_draft(path), call())
    assert inside(project, *SCAN) == (
        0,
        "no secrets in 1 cassette and 1 draft; looked for 1 variable, and for what looks like a key\n",
        "",
    )
    told = json.loads(inside(project, *SCAN, "--json").out)
    assert told == {"variables": ["LOANS_API_KEY"], "findings": [], "unread": []}


def test_a_variable_of_the_rubric(project: Path, monkeypatch: pytest.MonkeyPatch, inside: Recall) -> None:
    monkeypatch.setenv("CUSTOMER", "Fenwick & Sons")
    write(library(project).of_case("right", "loans"), call("Does Fenwick & Sons pay?"))
    assert inside(project, *SCAN).code == 0
    (project / "eval" / "rubric.yaml").write_text("owner: us\nsecrets: [CUSTOMER]\n", encoding="utf-8")
    done = inside(project, *SCAN)
    assert done.code == 1
    assert "right.ndjson:3: a part of a request body holds the value of CUSTOMER\n" in done.out


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"url": f"{CHAT}?api_key=short"}, "the URL holds a credential among its parameters"),
        ({"url": "https://me:word@api.example.com/"}, "the URL holds a credential among its parameters"),
        (
            {"headers": (("Authorization", "Basic bWU6d29yZA=="),)},
            "the request header Authorization is stored, and is there to carry a credential",
        ),
    ],
)
def test_credentials_that_no_recording_of_ours_keeps(
    project: Path, given: dict[str, Any], what: str, inside: Recall
) -> None:
    """They come with files that someone has converted or written otherwise."""
    write(library(project).of_case("right", "loans"), call(request=request("a")._replace(**given)))
    done = inside(project, *SCAN)
    assert done.code == 1
    assert done.out.splitlines()[0] == f"eval/cassettes/loans/right.ndjson:4: {what}"


def test_placeholders_of_credentials(project: Path, inside: Recall) -> None:
    asked = request("a", url=f"{CHAT}?api_key=[REDACTED]")
    asked = asked._replace(headers=(("authorization", "Bearer [LOANS_API_KEY]"),))
    write(library(project).of_case("right", "loans"), call(request=asked))
    assert inside(project, *SCAN).code == 0


def test_a_secret_that_a_stream_spells_out(project: Path, inside: Recall) -> None:
    chunks = tuple(
        f"data: {json.dumps({'text': piece})}\n\n".encode() for piece in ("my sk-proj-4fT9", "xQ2mLw8ZrYb1Kd07")
    )
    path = write(library(project).of_case("right", "loans"), call(response=response(chunks=chunks, offsets=(0.1, 0.2))))
    done = inside(project, *SCAN)
    assert done.code == 1
    what = "the response body (events joined) holds what looks like an OpenAI key"
    assert done.out.startswith(f"{path.relative_to(project).as_posix()}:4: {what}")


def test_keys_between_the_signs_of_forms_and_urls(project: Path, inside: Recall) -> None:
    key, other = "AKIA" + "Q7RZKD2MWX5T4NPB", "ASIA" + "W2XKQ5RTZD7M4BPN"
    form = (("content-type", "application/x-www-form-urlencoded"),)
    asked = Request("POST", f"{CHAT}/{key}/files", form, f"note=with+{other}+it".encode())
    write(library(project).of_case("right", "loans"), call(request=asked))
    out = inside(project, *SCAN).out
    assert "the URL holds what looks like an AWS key id" in out
    assert "the request body holds what looks like an AWS key id" in out


def test_an_answer_that_cannot_be_unpacked_is_said(project: Path, inside: Recall) -> None:
    packed = response(headers=(*JSON, ("content-encoding", "snappy")), chunks=(b"\x8b\x00\x80",))
    write(library(project).of_case("right", "loans"), call(response=packed))
    done = inside(project, *SCAN)
    assert done.code == 1
    assert ":4: the response body is compressed in a way that cannot be searched\n" in done.out


def test_damaged_files_and_files_of_others_are_looked_through(project: Path, inside: Recall) -> None:
    folder = project / "eval" / "cassettes"
    cut = write(folder / "cut.ndjson", call(response=response(f"my key is {SECRET}")))
    cut.write_bytes(cut.read_bytes()[: cut.read_bytes().index(SECRET.encode()) + len(SECRET)])
    (folder / "lore.ndjson").write_text(f'{{"seq": 0}}\n{{"note": "{KEY}"}}\n', encoding="utf-8")
    unknown = ([KEY], {"request": {"body": KEY}}, {"response": {"body": {"base64": "x"}}, "note": KEY})
    (folder / "others.ndjson").write_text("".join(json.dumps(one) + "\n" for one in unknown), encoding="utf-8")
    (folder / "noise.ndjson").write_bytes(b"\xff" * 40 + SECRET.encode())
    (folder / "sub.ndjson").mkdir()
    write(folder / "head.ndjson", note=SECRET)
    done = inside(project, *SCAN)
    assert done.code == 1
    assert done.out.splitlines() == [
        "eval/cassettes/cut.ndjson:4: the line holds the value of LOANS_API_KEY",
        "eval/cassettes/head.ndjson:1: the line holds the value of LOANS_API_KEY",
        "eval/cassettes/lore.ndjson:2: the line holds what looks like an OpenAI key",
        "eval/cassettes/noise.ndjson:1: the line holds the value of LOANS_API_KEY",
        *(f"eval/cassettes/others.ndjson:{line}: the line holds what looks like an OpenAI key" for line in (1, 2, 3)),
        "eval/cassettes/sub.ndjson: cannot be read (Is a directory); check that it is there and readable",
        "7 findings: revoke real secrets, delete the recording, and record it again",
        "not searched: 1 file",
    ]


def test_a_file_that_cannot_be_read_is_no_finding_and_no_success(project: Path, inside: Recall) -> None:
    (project / "eval" / "cassettes" / "sub.ndjson").mkdir(parents=True)
    said = "eval/cassettes/sub.ndjson: cannot be read (Is a directory); check that it is there and readable"
    done = inside(project, *SCAN)
    assert (done.code, done.out.splitlines()) == (1, [said, "not searched: 1 file"])
    told = inside(project, *SCAN, "--json")
    assert (told.code, json.loads(told.out)) == (1, {"variables": ["LOANS_API_KEY"], "findings": [], "unread": [said]})


def test_the_secret_is_never_printed(project: Path, inside: Recall) -> None:
    every = [*planted(SECRET).values(), *planted(KEY).values()]
    write(library(project).of_case("right", "loans"), *(one._replace(seq=seq) for seq, one in enumerate(every)))
    for arguments in (SCAN, (*SCAN, "--json")):
        done = inside(project, *arguments)
        assert done.code == 1
        assert SECRET not in done.out + done.err
        assert KEY[:12] not in done.out + done.err
        assert done.out.count("LOANS_API_KEY") >= 11
        assert done.out.count("an OpenAI key") >= 11
