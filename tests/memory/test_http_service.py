"""Memory systems behind HTTP: a real server on loopback."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pytest_recall.cases.memory_part import MemoryFault, QueryContext
from pytest_recall.memory.client import Client
from tests.memory.asking import NOW, filled, made, sources
from tests.memory.services import Service, serving

pytest.importorskip("httpx")


@pytest.fixture
def service() -> Iterator[Service]:
    with serving(Service()) as running:
        yield running


@pytest.fixture
def client(service: Service) -> Iterator[Client]:
    client = made(f"{service.url}/")
    yield client
    client.close()


def test_what_is_sent_and_what_comes_back(service: Service, client: Client) -> None:
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


def test_what_it_can_do_beside_it_says_in_its_health(service: Service, client: Client) -> None:
    service.health = {"answer": True, "finalize": True}
    filled(client)
    assert client.answer("why?", 5, NOW) == "answer to why?"
    assert [path for path, _ in service.asked if path in ("POST /finalize", "POST /answer")] == [
        "POST /finalize",
        "POST /answer",
    ]
    assert client.count() == 3


def test_a_service_without_health(service: Service, client: Client) -> None:
    service.health = None
    assert sources(filled(client).recall("car", 1, NOW)) != []
    assert client.count() is None
    client.healthcheck()


def test_one_that_is_not_ready(service: Service, client: Client) -> None:
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
    service: Service, client: Client, status: int, body: bytes, message: str
) -> None:
    service.replies["/recall"] = (status, body)
    with pytest.raises(MemoryFault, match=message):
        client.recall("x", 5, NOW)


def test_an_answer_without_text(service: Service, client: Client) -> None:
    service.health = {"answer": True}
    service.replies["/answer"] = (200, b'{"answer": "a"}')
    with pytest.raises(MemoryFault, match="replied without `text`"):
        client.answer("x", 5, NOW)


def test_texts_alone_are_passages(service: Service, client: Client) -> None:
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
