"""`rate_limits`: live calls wait for their turn, so that an upstream that counts them refuses none."""

from __future__ import annotations

import itertools
import json
import sys

import pytest

from tests.helpers.project import BARE, Project
from tests.helpers.talking import agents, answers, asking, sources, talking
from tests.helpers.upstream import Upstream

pytest.importorskip("openai")

Workers = tuple[str, ...]
NAMES = [f"c{number}" for number in range(8)]
AT_ONCE = "--recall-concurrency=8"
JUDGE = (
    "\n\n@pytest.fixture\ndef judge_asked():\n"
    "    async def judge(answer, case):\n"
    "        return '#' in await httpx_async('is it right: ' + answer.text)\n"
    "    return judge\n"
)
MORE = """\
def requests_sync(question):
    import requests
    return requests.post(URL + "/any", json=dict(prompt=question)).json()["text"]


async def aiohttp_async(question):
    import aiohttp
    async with aiohttp.ClientSession() as session, session.post(URL + "/any", json=dict(prompt=question)) as response:
        return (await response.json())["text"]


"""


def project(upstream: Upstream, way: str, limit: str = "requests_per_minute: 300", judge: str = "") -> Project:
    """Return a project that may ask five times a second, at an upstream that takes six within two fifths of one.

    Its cases are asked in the way of that name, or by turns in those of several.
    """
    upstream.allowed = (6, 0.4)
    cases = [asking(name, judges=[judge or {"regex": "."}]) for name in NAMES[: 4 if judge else 8]]
    ways = dict(zip(NAMES, itertools.cycle(way.split()), strict=False))
    rubric = f"owner: ana\nrate_limits:\n  {upstream.url.removeprefix('http://')}: {{{limit}}}\n"
    source = MORE + agents({name: f"return {way}(question)" for name, way in ways.items()}) + JUDGE
    return talking(upstream, source).with_cases(*cases).with_files({"eval/rubric.yaml": rubric})


@pytest.mark.parametrize("options", [(), ("--record",)])
def test_agents_of_any_client_wait(pytester: pytest.Pytester, upstream: Upstream, options: Workers) -> None:
    for name in ("requests", "aiohttp"):
        pytest.importorskip(name)
    checkout = project(upstream, "openai_sync httpx_async anthropic_async_stream requests_sync aiohttp_async")
    result = checkout.at(pytester).run("eval", "--recall-mode=all", AT_ONCE, *options)
    result.assert_outcomes(passed=8)
    assert (upstream.count, upstream.refused) == (8, 0)


def test_without_a_limit_calls_are_refused(pytester: pytest.Pytester, upstream: Upstream) -> None:
    """What the tests around this one would see if no one waited, however long a busy machine takes to call."""
    checkout = project(upstream, "openai_sync").with_files({"eval/rubric.yaml": "owner: ana\n"}).at(pytester)
    upstream.clock = lambda: float(upstream.refused)  # It stands still until one is refused.
    checkout.run("eval", "--recall-mode=all", AT_ONCE).assert_outcomes(passed=8)
    assert (upstream.count, upstream.refused) == (9, 1)


def test_agents_and_judges_wait_in_one_line(pytester: pytest.Pytester, upstream: Upstream) -> None:
    checkout = project(upstream, "httpx_sync", judge="asked").at(pytester)
    result = checkout.run("eval", "--recall-mode=all", AT_ONCE, "-n2")
    result.assert_outcomes(passed=4)
    assert (upstream.count, upstream.refused) == (8, 0)
    shared = ["rate limits: each of the 2 workers kept to an equal share of them"]
    assert [line for line in result.outlines if line.startswith("rate limits:")] == shared


def test_tokens_are_corrected_by_what_was_used_and_what_is_replayed_does_not_wait(
    pytester: pytest.Pytester, upstream: Upstream
) -> None:
    """Each call is expected to take about a hundred, and takes 15: only so eight of them fit into a minute."""
    checkout = project(upstream, "anthropic_sync", "tokens_per_minute: 700").at(pytester)
    upstream.allowed = None
    checkout.run("eval", "--recall-mode=all", "--record").assert_outcomes(passed=8)
    assert upstream.count == 8
    upstream.close()
    rubric = checkout.path / "eval" / "rubric.yaml"
    text = rubric.read_text(encoding="utf-8").replace("tokens_per_minute: 700", "requests_per_minute: 1")
    rubric.write_text(text, encoding="utf-8")
    before = answers(checkout)
    checkout.run("eval", "--recall-mode=all", "--replay").assert_outcomes(passed=8)
    assert answers(checkout) == before
    assert set(sources(checkout).values()) == {"replayed"}


def test_less_than_one_for_each_worker_is_refused(pytester: pytest.Pytester, upstream: Upstream) -> None:
    checkout = project(upstream, "openai_sync", "requests_per_minute: 1").at(pytester)
    result = checkout.run("eval", "-n", "2")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    told = [line for line in result.errlines if "rate_limits" in line]
    place = upstream.url.removeprefix("http://")
    assert [line.startswith(f"ERROR: rate_limits.{place}: ") for line in told] == [True]
    assert upstream.count == 0


STARTED = """\
import sys
import time
from pathlib import Path

with Path("started.txt").open("a") as file:
    print(time.time(), file=file)
print(sys.stdin.read().strip())
"""


def test_a_program_waits_before_it_is_started(pytester: pytest.Pytester) -> None:
    """Three starts take at least two seconds at one in a second, and next to nothing without a limit.

    A busy machine may take another second to start the first.
    """
    rubric = (
        f"owner: ana\nmodel_primary: {json.dumps(f'command:{sys.executable} program.py')}\n"
        "rate_limits: {command: {requests_per_minute: 60}}\n"
    )
    project = BARE.with_cases(*(asking(name, judges=[{"regex": "."}]) for name in NAMES[:3]))
    made = project.with_files({"eval/rubric.yaml": rubric, "program.py": STARTED, "eval/conftest.py": ""})
    checkout = made.at(pytester)
    checkout.run("eval", "--recall-mode=all", AT_ONCE).assert_outcomes(passed=3)
    started = sorted(map(float, (checkout.path / "started.txt").read_text(encoding="utf-8").split()))
    assert len(started) == 3
    assert started[-1] - started[0] > 0.5
