"""Memory systems behind HTTP: a real server on loopback."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import format_datetime

import pytest

from pytest_recall.cases.memory_part import MemoryFault, QueryContext
from pytest_recall.memory.client import MemoryAdapter, deadline
from tests.memory.asking import NOW, filled, made, sources
from tests.memory.services import Service, serving

pytest.importorskip("httpx")


@pytest.fixture
def service() -> Iterator[Service]:
    with serving(Service()) as running:
        yield running


@pytest.fixture
def client(service: Service) -> Iterator[MemoryAdapter]:
    client = made(f"{service.url}/")
    yield client
    client.close()


def test_what_is_sent_and_what_comes_back(service: Service, client: MemoryAdapter) -> None:
    filled(client, {"car": "my car is “red”"})
    found = client.recall("which car?", 2, QueryContext(session="s2", date="2026-05-01"))
    assert [(one.text, one.source, one.score) for one in found] == [("my car is “red”", "car", 0.5)]
    assert client.answer("which car?", 2, NOW) is None
    assert service.asked == [
        ("POST /reset", {}),
        ("POST /store", {"content": "my car is “red”", "metadata": {"id": "car"}}),
        ("GET /health", None),
        (
            "POST /recall",
            {"query": "which car?", "limit": 2, "context": {"session": "s2", "date": "2026-05-01"}},
        ),
    ]


def test_what_it_can_do_beside_it_says_in_its_health(service: Service, client: MemoryAdapter) -> None:
    service.health = {"answer": True, "finalize": True}
    filled(client)
    assert client.answer("why?", 5, NOW) == "answer to why?"
    assert [path for path, _ in service.asked if path in ("POST /finalize", "POST /answer")] == [
        "POST /finalize",
        "POST /answer",
    ]
    assert client.count() == 3


@pytest.mark.parametrize(("said", "most"), [(50, 50), (1, 1), (0, 1), (True, 1), ("many", 1), (None, 1)])
def test_so_many_texts_at_once_as_it_says(service: Service, client: MemoryAdapter, said: object, most: int) -> None:
    service.health = {"batches": said}
    assert client.batch == 1, "it has said nothing yet"
    client.learn()
    assert client.batch == most
    client.store_many([("a", {"id": "1"}), ("b", {"id": "2"})])
    assert service.asked[-1] == (
        "POST /store_many",
        {"units": [{"content": "a", "metadata": {"id": "1"}}, {"content": "b", "metadata": {"id": "2"}}]},
    )
    assert client.count() == 2


def test_a_service_without_health(service: Service, client: MemoryAdapter) -> None:
    service.health = None
    assert sources(filled(client).recall("car", 1, NOW)) != []
    assert client.count() is None
    client.healthcheck()


def test_one_that_is_not_ready(service: Service, client: MemoryAdapter) -> None:
    service.health = {"ready": False}
    with pytest.raises(MemoryFault, match="says that it is not ready"):
        client.healthcheck()


@pytest.mark.parametrize(
    ("status", "body", "message"),
    [
        (500, b"out of memory", "POST /recall: status 500 'out of memory'; look into the log"),
        (404, b"", "POST /recall: status 404; look into"),
        (302, b"", "status 302"),
        (200, b"", "which is no JSON object"),
        (200, b"[]", r"replied with '\[\]', which is no JSON object"),
        (200, b"\xff\xfe", "which is no JSON object"),
        (200, b"{}", "without `passages`"),
        (200, b'{"passages": null}', "recalled nothing; return a list"),
        (200, b'{"passages": "a"}', "recalled str; return a list"),
        (200, b'{"passages": [{"source": "a"}]}', "recalled a passage that is dict; give text"),
        (200, b'{"passages": [3]}', "recalled a passage that is int"),
    ],
)
def test_what_is_no_reply_is_one_sentence(
    service: Service, client: MemoryAdapter, status: int, body: bytes, message: str
) -> None:
    service.replies["/recall"] = (status, body)
    with pytest.raises(MemoryFault, match=message):
        client.recall("x", 5, NOW)


def test_an_answer_without_text(service: Service, client: MemoryAdapter) -> None:
    service.health = {"answer": True}
    service.replies["/answer"] = (200, b'{"answer": "a"}')
    with pytest.raises(MemoryFault, match="replied without `text`"):
        client.answer("x", 5, NOW)


def test_texts_alone_are_passages(service: Service, client: MemoryAdapter) -> None:
    service.replies["/recall"] = (200, b'{"passages": ["a", {"text": "b", "score": null}], "more": 1}')
    assert [one.text for one in client.recall("x", 5, NOW)] == ["a", "b"]


def test_one_that_takes_too_long(service: Service) -> None:
    service.slow = "/reset"
    client = made(f"{service.url};timeout=0.3")
    with pytest.raises(MemoryFault, match=r"POST /reset: no reply within 0.3 s; add `;timeout=`"):
        client.reset()
    client.close()


def test_one_that_is_not_there() -> None:
    with serving(Service()) as gone:
        client = made(gone.url)
    with pytest.raises(MemoryFault, match=r"POST /reset: .*; start the service, or correct the selector"):
        client.reset()
    client.close()


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_service_is_asked_again_after_what_it_says(service: Service, client: MemoryAdapter, status: int) -> None:
    date = format_datetime(datetime.fromtimestamp(time.time() + 1, UTC), usegmt=True)
    service.busy = [(status, "0.2"), (status, date)]
    start = time.monotonic()
    client.store("my car is red", {"id": "car"})
    assert time.monotonic() - start >= 0.2
    assert [path for path, _ in service.asked] == ["busy POST /store", "busy POST /store", "POST /store"]
    assert [one["content"] for one in service.kept] == ["my car is red"]


@pytest.mark.parametrize(("status", "after", "tries"), [(429, "600", 1), (503, "0", 4), (500, "0", 1)])
def test_it_is_not_asked_without_end(
    service: Service, client: MemoryAdapter, status: int, after: str, tries: int
) -> None:
    service.busy = [(status, after)] * 9
    with pytest.raises(MemoryFault, match=f"POST /reset: status {status} 'busy'") as caught:
        client.reset()
    assert len(service.asked) == tries
    assert (f"tried {tries} times" in str(caught.value)) == (tries > 1)


def test_no_wait_is_longer_than_the_time_of_the_question(service: Service, client: MemoryAdapter) -> None:
    service.busy = [(503, "5")] * 9
    with deadline(0.5), pytest.raises(MemoryFault, match="status 503"):
        client.recall("car", 1, NOW)
    assert len(service.asked) == 1


def test_headers_have_their_values_from_the_environment(service: Service) -> None:
    selector = f"{service.url};bearer=MY_TOKEN;header=X-API-Key:MY_KEY,X-Org:MY_ORG"
    client = made(selector, MY_TOKEN="s3cret", MY_KEY="k3y", MY_ORG="us")
    client.ready()
    filled(client)
    for sent in service.headers:
        assert (sent["authorization"], sent["x-api-key"], sent["x-org"]) == ("Bearer s3cret", "k3y", "us")
    service.replies["/reset"] = (401, b"the token s3cret is not known")
    with pytest.raises(MemoryFault, match=r"status 401 'the token \$MY_TOKEN is not known'"):
        client.reset()
    assert "s3cret" not in client.name
    client.close()


@pytest.mark.parametrize(
    ("environ", "said"),
    [
        ({}, "header authorization: the environment variable MY_TOKEN is not set; set it"),
        ({"MY_TOKEN": " "}, "MY_TOKEN is not set"),
        ({"MY_TOKEN": "a\nb"}, "the environment variable MY_TOKEN has characters that no header may have"),
    ],
)
def test_a_variable_that_cannot_be_sent_is_one_sentence(service: Service, environ: dict[str, str], said: str) -> None:
    with pytest.raises(MemoryFault, match=said):
        made(f"{service.url};bearer=MY_TOKEN", None, None, **environ).ready()
    assert service.asked == []
