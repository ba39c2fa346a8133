"""Projects whose agent talks to an upstream, through the SDKs and the HTTP clients as they are."""

from __future__ import annotations

import contextlib
import importlib
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import pytest

from pytest_recall.replay.cassette_file import Cassette
from pytest_recall.replay.cassette_library import DRAFTS
from pytest_recall.replay.exchange import Exchange
from pytest_recall.replay.matching import Rules
from pytest_recall.trials.trial import Trial
from tests.helpers.project import BARE, Checkout, Project, case
from tests.helpers.upstream import Upstream

# A run in this process forgets the modules that it was the first to import. Clients are slow to
# import, and what they import late would be there twice, with two classes for each exception.
_SLOW = (
    *("openai.resources.chat.completions", "openai.resources.embeddings", "openai.resources.batches"),
    *("openai.resources.files", "anthropic.resources.messages.batches", "genai_prices"),
    *("httpx", "httpcore", "httpx2", "httpcore2", "anyio._backends._asyncio"),
)
for _module in _SLOW:
    with contextlib.suppress(ModuleNotFoundError):
        importlib.import_module(_module)

CASSETTES = "eval/cassettes"


def _forgetting(*packages: str) -> str:
    """Return source that has none of these packages imported; they are kept for what was imported from them."""
    return f"""\
import sys

KEPT = [sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] in {packages!r}]
"""


WITHOUT_SDKS = _forgetting("anthropic", "openai", "nltk", "numpy") + "\n\n"
"""Has no SDK of a model imported, and no extra, like a process whose agent has none; one of tests is forked with all.

What fakes a clock or the files of a test looks through each module that is imported, and theirs are four in five.
"""

FORGETTING = {
    "forgetting.py": _forgetting("aiohttp", "anyio", "httpcore", "httpcore2", "httpx", "httpx2", "requests", "urllib3")
}
"""A plugin for `-p forgetting` in a process of its own: no client is imported when the run begins."""

CLIENTS = """\
import asyncio
import concurrent.futures
import threading

URL = {url!r}
KEY = {key!r}
GPT = dict(model="gpt-4o-mini")
CLAUDE = dict(model="claude-haiku-4-5", max_tokens=64)


def said(question):
    return question if isinstance(question, list) else [dict(role="user", content=question)]


def openai_client(cls="OpenAI", **more):
    import openai
    return getattr(openai, cls)(base_url=URL + "/v1", api_key=KEY, **more)


def anthropic_client(cls="Anthropic", **more):
    import anthropic
    return getattr(anthropic, cls)(base_url=URL, api_key=KEY, **more)


# By the APIs and without the SDKs, which each process that a test starts would import.


def plain_sync(question):
    import httpx
    done = httpx.post(URL + "/v1/chat/completions", json=dict(messages=said(question), **GPT), timeout=60)
    return done.raise_for_status().json()["choices"][0]["message"]["content"]


def plain_messages(question):
    import httpx
    done = httpx.post(URL + "/v1/messages", json=dict(messages=said(question), **CLAUDE), timeout=60)
    return done.raise_for_status().json()["content"][0]["text"]


# Through the SDKs, and the clients beneath them.


def openai_sync(question, **more):
    with openai_client(**more) as client:
        return client.chat.completions.create(messages=said(question), **GPT).choices[0].message.content


async def openai_async(question, **more):
    async with openai_client("AsyncOpenAI", **more) as client:
        done = await client.chat.completions.create(messages=said(question), **GPT)
        return done.choices[0].message.content


def openai_stream(question, **more):
    with openai_client(**more) as client:
        stream = client.chat.completions.create(messages=said(question), stream=True, **GPT)
        return "|".join(chunk.choices[0].delta.content for chunk in stream)


async def openai_async_stream(question, **more):
    async with openai_client("AsyncOpenAI", **more) as client:
        stream = await client.chat.completions.create(messages=said(question), stream=True, **GPT)
        return "|".join([chunk.choices[0].delta.content async for chunk in stream])


def anthropic_sync(question, **more):
    with anthropic_client(**more) as client:
        return client.messages.create(messages=said(question), **CLAUDE).content[0].text


async def anthropic_async(question, **more):
    async with anthropic_client("AsyncAnthropic", **more) as client:
        return (await client.messages.create(messages=said(question), **CLAUDE)).content[0].text


def anthropic_stream(question, **more):
    with anthropic_client(**more) as client, client.messages.stream(messages=said(question), **CLAUDE) as stream:
        return "|".join(stream.text_stream)


async def anthropic_async_stream(question, **more):
    async with anthropic_client("AsyncAnthropic", **more) as client:
        async with client.messages.stream(messages=said(question), **CLAUDE) as stream:
            return "|".join([text async for text in stream.text_stream])


def httpx2_sync(question, path="/any", **more):
    import httpx2
    return httpx2.post(URL + path, json=dict(prompt=question), **more).json()["text"]


async def httpx2_async(question, **more):
    import httpx2
    async with httpx2.AsyncClient(**more) as client:
        return (await client.post(URL + "/any", json=dict(prompt=question))).json()["text"]


def httpx_sync(question, **more):
    import httpx
    return httpx.post(URL + "/any", json=dict(prompt=question), **more).json()["text"]


async def httpx_async(question, **more):
    import httpx
    async with httpx.AsyncClient(**more) as client:
        return (await client.post(URL + "/any", json=dict(prompt=question))).json()["text"]


def legacy(question, **more):
    import httpx
    with httpx.Client() as client:
        return openai_sync(question, http_client=client, **more)


"""

SDK_WAYS = (
    "openai_sync",
    "openai_async",
    "openai_stream",
    "openai_async_stream",
    "anthropic_sync",
    "anthropic_async",
    "anthropic_stream",
    "anthropic_async_stream",
)
"""Those of the functions above that ask through an SDK."""
WAYS = (
    *SDK_WAYS,
    "httpx2_sync",
    "httpx2_async",
    "httpx_sync",
    "httpx_async",
    "legacy",
)
"""The functions above: each asks one question and returns what was answered."""


LATE = """\
TOLD = threading.Event()
OVER = threading.Event()


def late():
    TOLD.wait(20)
    try:
        {call}
    except BaseException:
        pass
    OVER.set()


"""
"""What a thread does that makes its `call` when it is told to, and then says that it is over."""


def agent(body: str) -> str:
    """Return the source of an agent: a function `answer(question)` with `body`."""
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    return f"@pytest.fixture\ndef agent():\n    def answer(question):\n{lines}    return answer\n"


def agents(bodies: Mapping[str, str]) -> str:
    """Return the source of an agent that is asked for one of these names, and does what its body says."""
    defined = "".join(
        f"def answer_{at}(question):\n{textwrap.indent(body, '    ')}\n\n\n" for at, body in enumerate(bodies.values())
    )
    listed = ", ".join(f"{name!r}: answer_{at}" for at, name in enumerate(bodies))
    return f"{defined}ANSWERS = {{{listed}}}\n\n\n{agent('return ANSWERS[question](question)')}"


class Somewhere(Protocol):
    """Anyone who is asked there."""

    url: str


def talking(upstream: Somewhere, source: str, *, key: str = "none") -> Project:
    """Return a project with this source in its eval/conftest.py, below functions that ask `upstream`."""
    return BARE.with_agent(CLIENTS.format(url=upstream.url, key=key) + source)


def asks(upstream: Upstream, way: str, *prompts: str) -> Project:
    """Return a project whose agent asks in the `way` of that name, with a case for each of `prompts`, named by it."""
    return talking(upstream, agent(f"return {way}(question)")).with_cases(
        *(asking(prompt.replace(" ", "-"), prompt) for prompt in prompts)
    )


def asking(case_id: str, prompt: str = "", **given: Any) -> dict[str, Any]:
    """Return a case that passes with any answer; it asks `prompt`, or else its own id."""
    return case(case_id, **{"input": prompt or case_id, "judges": [{"regex": "."}], **given})


def trial(checkout: Checkout, case_id: str) -> Trial:
    """Return the last trial of a case in the newest run."""
    return [trial for trial in checkout.journal().trials if trial.case_id == case_id][-1]


def answers(checkout: Checkout) -> dict[str, str]:
    """Return what was answered in each case of the newest run."""
    return {trial.case_id: trial.answer.text for trial in checkout.journal().trials if trial.answer is not None}


def sources(checkout: Checkout) -> dict[str, str]:
    """Return where the answer came from in each case of the newest run."""
    return {trial.case_id: trial.source for trial in checkout.journal().trials}


def cassette(checkout: Checkout, name: str, scenario: str = "one", folder: str = CASSETTES) -> Path:
    """Return the path of the cassette of a case."""
    return checkout.path / folder / scenario / f"{name}.ndjson"


def calls(path: Path, rules: Rules | None = None) -> list[Exchange]:
    """Return the calls that a cassette holds."""
    return list(Cassette(path, path.name, rules or Rules()).exchanges())


def drafts(checkout: Checkout, folder: str = CASSETTES) -> list[Path]:
    """Return the recordings that were not finished."""
    return sorted((checkout.path / folder / DRAFTS).glob("*.ndjson"))


def finished(checkout: Checkout, folder: str = CASSETTES) -> dict[str, bytes]:
    """Return the finished cassettes by their path in the folder."""
    root = checkout.path / folder
    found = (path.relative_to(root) for path in root.rglob("*.ndjson"))
    return {path.as_posix(): (root / path).read_bytes() for path in sorted(found) if DRAFTS not in path.parts}


def no_sockets(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return the list of the addresses that are connected to from now on: none should be."""
    import socket

    met: list[Any] = []
    for name in ("connect", "connect_ex"):
        original = getattr(socket.socket, name)

        def connect(self: socket.socket, address: Any, original: Any = original) -> Any:
            if self.family != socket.AF_UNIX:
                met.append(address)
            return original(self, address)

        monkeypatch.setattr(socket.socket, name, connect)
    return met


def no_sleep(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Let no one sleep from now on, and return the list of the seconds that were asked for."""
    import time

    import anyio

    asked: list[float] = []

    async def later(delay: float) -> None:
        asked.append(delay)

    monkeypatch.setattr(time, "sleep", asked.append)
    monkeypatch.setattr(anyio, "sleep", later)
    return asked
