"""Clean: which calls may be written, and how many secrets of which kinds would reach the disk."""

from __future__ import annotations

import gzip
import json
import random
import sys
import zlib
from base64 import b64encode
from collections.abc import Callable
from hashlib import sha256
from urllib.parse import quote
from uuid import UUID

import pytest

from pytest_recall.files.errors import RecallError
from pytest_recall.replay.exchange import Exchange, Request, Response
from pytest_recall.replay.recorded_parts import cleaned
from pytest_recall.replay.redaction import Redactor
from tests.replay.secret_kinds import JSON, KINDS, OK, PLACES, URL, made

MAY_PASS = 0
"""How many of the pairs of a kind and a place may reach the disk; each would have to be named in the docs."""


def is_refused(call: Exchange) -> str:
    """Return why a call must not be written, or nothing if it may."""
    try:
        cleaned(call, Redactor({}))
    except RecallError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("place", PLACES)
def test_kinds_of_secrets_that_reach_the_disk(place: str) -> None:
    assert (len(KINDS), len(PLACES)) == (27, 8)
    passed = [kind for kind, secret in KINDS.items() if not is_refused(PLACES[place](secret))]
    assert len(passed) <= MAY_PASS, f"{place}: {passed}"


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_said_does_not_hold_the_secret(kind: str) -> None:
    said = is_refused(PLACES["JSON body"](KINDS[kind]))
    assert "holds what looks like" in said
    assert KINDS[kind][-16:] not in said


@pytest.mark.parametrize(
    "wrapped",
    [
        lambda secret: b64encode(json.dumps({"config": secret}).encode()).decode(),
        lambda secret: b64encode(b64encode(f"Use {secret} here.".encode())).decode(),
        lambda secret: b64encode(b"\0\1\2" + secret.encode() + b"\xff").decode().rstrip("="),
        lambda secret: f"/v1/files/{b64encode(f'id={secret}'.encode(), altchars=b'-_').decode()}/parts",
        lambda secret: "\n".join(
            b64encode(f"Dear all, use {secret} from now on.".encode()).decode()[at : at + 60]
            for at in range(0, 200, 60)
        ),
        lambda secret: json.dumps(json.dumps({"inner": json.dumps({"key": f"a\n{secret}"})})),
    ],
    ids=["json", "twice", "bytes", "path", "lines", "escapes"],
)
@pytest.mark.parametrize("kind", ["OpenAI key", "AWS key id", "database URL", "private key"])
def test_what_a_secret_is_wrapped_in_is_undone(kind: str, wrapped: object) -> None:
    assert callable(wrapped)
    body = json.dumps({"content": wrapped(KINDS[kind])}).encode()
    assert is_refused(Exchange("", 0, "agent", Request("POST", URL, JSON, body), OK))


@pytest.mark.parametrize(
    "text",
    [
        "password=hunter2",
        '{"user": "ann", "password": "Tr0ub4dor&3"}',
        "DB_PASSWORD='SuperSecret123!'",
        "password: s3cr3tvalue99",
        "Server=db;User Id=app;Pwd=kx81Lq_ww;",
        "mysql://root:kx81Lq@db.example.com/app",
        "Authorization: Basic " + b64encode(b"ann:kx81Lq_ww").decode(),
    ],
)
def test_passwords(text: str) -> None:
    assert "a password" in is_refused(PLACES["JSON body"](text))


def test_a_compressed_body_is_searched() -> None:
    answer = OK._replace(
        headers=(*JSON, ("content-encoding", "gzip")), chunks=(gzip.compress(KINDS["OpenAI key"].encode()),)
    )
    assert "an OpenAI key" in is_refused(Exchange("", 0, "agent", Request("POST", URL), answer))


@pytest.mark.parametrize("packed", [False, True])
def test_a_known_value_that_a_stream_spells_out_is_replaced(packed: bool) -> None:
    call = PLACES["streamed answer"]("the-Sunday-of-Whit")
    assert call.response is not None
    given = call.response
    if packed:
        packer = zlib.compressobj(9, zlib.DEFLATED, 31)
        chunks = [packer.compress(chunk) + packer.flush(zlib.Z_SYNC_FLUSH) for chunk in given.chunks]
        given = given._replace(headers=(*given.headers, ("content-encoding", "gzip")), chunks=tuple(chunks))
    clean = cleaned(call._replace(response=given), Redactor({"DOOR_TOKEN": "the-Sunday-of-Whit"})).response
    assert clean is not None
    assert len(clean.chunks) == len(given.chunks)
    events = [json.loads(chunk.partition(b": ")[2])["choices"][0]["delta"]["content"] for chunk in clean.chunks]
    assert "".join(events) == "It is [DOOR_TOKEN] there."
    assert sum(one != two for one, two in zip(clean.chunks, call.response.chunks, strict=True)) == 4


def as_events(text: str) -> bytes:
    """Return a stream whose events say three letters each."""
    pieces = (json.dumps({"id": "chatcmpl-" + made(24), "delta": text[at : at + 3]}) for at in range(0, len(text), 3))
    return "".join(f"data: {piece}\n\n" for piece in pieces).encode()


BYTES = random.Random(4).randbytes(100_000)
LARGE: dict[str, Callable[[str, int], bytes]] = {
    "prose": lambda secret, at: ("of cats " * at + secret + " and dogs" * (10_000 - at)).encode(),
    "picture": lambda secret, at: json.dumps(
        {"png": b64encode(BYTES[: 3 * at] + f" {secret} ".encode() + BYTES[3 * at :]).decode()}
    ).encode(),
    "bytes": lambda secret, at: BYTES[:at] + f"\n{secret}\n".encode() + BYTES[at:],
    "escapes": lambda secret, at: json.dumps("\u732b\n" * at + secret + '"\\\t' * (10_000 - at)).encode(),
    "events": lambda secret, at: as_events("of cats " * (at // 10) + secret + " and dogs" * (1_000 - at // 10)),
    "form": lambda secret, at: (quote("n\u00e9 ") * at + quote(secret) + "%20a%2Bb" * (10_000 - at)).encode(),
}


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("form", LARGE)
def test_a_secret_anywhere_in_a_large_answer_is_found(form: str, packed: bool) -> None:
    places = random.Random(form)
    for kind, secret in KINDS.items():
        if (form, kind) == ("events", "private key"):
            continue  # Its lines are apart.
        body = LARGE[form](secret, places.choice((0, 10_000, places.randrange(10_000))))
        headers = (*JSON, *((("content-encoding", "gzip"),) if packed else ()))
        body = gzip.compress(body, 1) if packed else body
        chunks = tuple(body[at : at + 1_000] for at in range(0, len(body), 1_000))
        call = Exchange("", 0, "agent", Request("POST", URL), OK._replace(headers=headers, chunks=chunks))
        assert "looks like" in is_refused(call), kind


def test_an_answer_that_unpacks_too_far_is_not_written() -> None:
    body = gzip.compress(bytes(65 << 20), 1)
    answer = Response(200, "OK", (("content-encoding", "gzip"),), (body,))
    assert "larger than 64 MB when it is unpacked" in is_refused(Exchange("", 0, "agent", Request("GET", URL), answer))


PICTURE = b64encode(random.Random(3).randbytes(8_000)).decode()


@pytest.mark.parametrize(
    "text",
    [
        "How do I reset my password? It says password: must have at least 8 characters.",
        "password: 12-character minimum, passphrase: base64-encoded, pwd: SHA-256, password: 8chars, password='sha256'",
        'Choose one with password="12-characters" or more, and not password="24hours".',
        "Write a login form with <input type='password' name='password' value='' required>.",
        "conn = psycopg.connect(user=args.user, password=args.db_password2, host='db1')",
        "password = os.environ['DB_PASSWORD_2']; pwd=/home/user1/project",
        'password=getpass.getpass("Password2: ") or password=config.get("password1")',
        "export PASSWORD=${DB_PASSWORD_1} and password: {{ vault.password1 }} and --password=$PASS_1",
        "DATABASE_URL=postgres://user:password@localhost:5432/app or mysql://root:secret123@db/app",
        "https://user:pass@example.com and redis://:<password1>@host and http://host:8080/a@2x.png",
        '{"type": "object", "properties": {"password": {"type": "string", "minLength": 8}}}',
        "The token_count=1234567890123456789012 and max_tokens: 4096, api_version: 2024-10-21-preview",
        "docker pull registry.test/team/app:v1.2.3@sha256:" + sha256(b"a").hexdigest(),
        f"commit {sha256(b'b').hexdigest()[:40]}, trace {UUID(int=2**120 + 7)}, id chatcmpl-{made(29)}",
        f"call_{made(24)} toolu_01{made(22)} msg_{made(24)} resp_{made(48, '0123456789abcdef')} file-{made(22)}",
        f"data:image/png;base64,{PICTURE}",
        b64encode(b"A long report, with a password: as before, and nothing else. " * 20).decode(),
        json.dumps([random.Random(5).gauss(0, 1) for _ in range(500)]),
        "Server-sent: hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX is the form of a webhook.",
        "sk_test_your_key_goes_here_1 and SG.xxxxxxxxxxxxxxxxxxxxxx.xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "12:30:45 ratio 1700000000:Amsterdam-is-the-capital-of-the-Netherlands",
        '{"pageToken": "CAEQAA", "nextPageToken": "EAAaBlBUOkNBVQ", "etag": "W/\\"0815\\""}',
    ],
    ids=lambda text: str(text)[:24],
)
def test_ordinary_prompts_are_written(text: str) -> None:
    for place in ("JSON body", "answer", "form body", "query", "streamed answer"):
        assert is_refused(PLACES[place](text)) == "", place


@pytest.mark.parametrize(
    ("encoding", "advice"),
    [("snappy", "let the client ask for gzip or none"), ("br", "install brotli, or let the client ask")],
)
def test_an_answer_that_cannot_be_unpacked_is_not_written(
    encoding: str, advice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("brotli", "brotlicffi"):
        monkeypatch.setitem(sys.modules, module, None)
    packed = Response(200, "OK", (("content-encoding", encoding),), (b"\x8b\x00\x80",))
    said = is_refused(Exchange("", 0, "agent", Request("GET", URL), packed))
    assert said.startswith(
        f"has an answer in the encoding '{encoding}', which cannot be searched for secrets; {advice}"
    )
