"""What a worker sends: what is read is what was written."""

from __future__ import annotations

from collections import Counter

import pytest

from pytest_recall.plugin.worker_payload import CollectionPayload, WorkerPayload

COLLECTION = CollectionPayload(
    marked_tests={"a": ("fees", "facts")}, nodes={"test_a.py::test_a": "a"}, cases=["a"], settled=None
)
PAYLOAD = WorkerPayload(
    collection=COLLECTION,
    problems=["p"],
    notes=["n"],
    halted="",
    unrecorded={"telemetry": Counter(host=2)},
    calls=[{"kind": "agent"}],
    alone=Counter(capsys=1),
    looped=Counter(client=2),
    batched=Counter(batched=3),
    deselected={"b": True},
    passed_over=["c"],
    judged=[True],
)


@pytest.mark.parametrize("payload", [COLLECTION, PAYLOAD], ids=["collection", "worker"])
def test_what_is_read_is_what_was_written(payload: CollectionPayload | WorkerPayload) -> None:
    assert type(payload).from_text(payload.to_text()) == payload
