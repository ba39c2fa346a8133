"""The batch APIs through their SDKs, where they answer otherwise than batches need."""

from __future__ import annotations

import sys
from contextlib import closing
from types import ModuleType
from typing import Literal

import pytest

from pytest_recall.models.batch import Door
from pytest_recall.models.batch_apis import BatchError, open_door
from tests.models.endpoint import Answer, endpoint


@pytest.mark.parametrize("api", ["openai", "anthropic"])
def test_without_the_sdk_the_extra_is_named(api: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, api, None)
    told = rf"^the package {api} is not installed; run: pip install 'pytest-recall\[llm\]'$"
    with pytest.raises(BatchError, match=told):
        open_door(Door("openai" if api == "openai" else "anthropic", "http://127.0.0.1:9", "/v1/messages"))


@pytest.mark.parametrize("api", ["openai", "anthropic"])
def test_an_sdk_that_is_too_old_is_named(api: Literal["openai", "anthropic"], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, api, ModuleType(api))
    with pytest.raises(BatchError, match=f"run: pip install --upgrade {api}$"):
        open_door(Door(api, "http://127.0.0.1:9", "/v1/messages"))


def test_results_that_are_kept_no_more_are_gone() -> None:
    pytest.importorskip("anthropic")
    day = "2026-01-01T00:00:00Z"
    told = {"id": "msgbatch_1", "type": "message_batch", "processing_status": "ended", "archived_at": day}
    with (
        endpoint(Answer(200, told)) as server,
        closing(open_door(Door("anthropic", server.url, "/v1/messages"))) as door,
        pytest.raises(BatchError, match=r"^the results of msgbatch_1 are not kept any more$") as caught,
    ):
        door.look("msgbatch_1")
    assert (caught.value.gone, caught.value.unsure) == (True, False)
