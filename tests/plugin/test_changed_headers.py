"""A dry run of an agent whose requests differ in a header that is neither matched nor stored."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_recall.replay.cassette_file import read_header, write_cassette
from pytest_recall.replay.matching import Rules
from tests.helpers.project import Checkout, Project, row
from tests.helpers.talking import SDK_WAYS, agent, agents, asking, calls, cassette, talking
from tests.helpers.upstream import Upstream

pytest.importorskip("httpx")

DRY = ("eval", "--record=missing", "--recall-dry-run")
LINE = "header x-variant: another value than recorded"


def varying(upstream: Upstream, variant: str, *more: str) -> Project:
    """Return a project whose agent asks with a header, for the cases `a` and `b`, and `more`."""
    source = agent(f"return httpx_sync(question, headers={{'X-Variant': {variant!r}}})")
    cases = ("a", "b", *more)
    return talking(upstream, source).with_cases(*map(asking, cases)).with_state(**{name: row(1) for name in cases})


def found(checkout: Checkout) -> dict[str, Any]:
    """Return what a dry run has found of each case."""
    loaded = json.loads((checkout.artifacts.folder / "changed.json").read_text(encoding="utf-8"))
    each: dict[str, Any] = loaded["found"]
    return each


def recorded(project: Project, pytester: pytest.Pytester, count: int = 2) -> Checkout:
    """Return the project with its cases recorded."""
    checkout = project.at(pytester)
    checkout.run("eval", "--record", "--recall-mode", "all").assert_outcomes(passed=count)
    return checkout


def test_another_value_affects_a_case_and_is_named(pytester: pytest.Pytester, upstream: Upstream) -> None:
    checkout = recorded(varying(upstream, "first-of-two"), pytester)
    path = cassette(checkout, "a")
    before, asked = path.read_bytes(), upstream.count
    assert b"first-of-two" not in before
    assert b'"others":{"x-variant":"' in before

    result = checkout.run_afresh(*DRY)
    assert {case_id: one["state"] for case_id, one in found(checkout).items()} == {"a": "unaffected", "b": "unaffected"}
    assert "without the headers" not in result.stdout.str()

    varying(upstream, "second-of-two").at(pytester)
    result = checkout.run_afresh(*DRY)
    differences = [{"kind": "changed", "path": "header x-variant"}]
    each = {case_id: (one["state"], one["differences"]) for case_id, one in found(checkout).items()}
    assert each == dict.fromkeys("ab", ("changed", differences))
    result.stdout.fnmatch_lines([f"  2 cases, such as a: call 1: {LINE}"])
    assert (path.read_bytes(), upstream.count) == (before, asked)

    checkout.run("eval", "--replay", "--recall-mode", "all").assert_outcomes(passed=2)
    assert upstream.count == asked, "a replay finds a call by the headers that are matched alone"


def test_what_it_affects_is_asked_and_recorded_anew(pytester: pytest.Pytester, upstream: Upstream) -> None:
    checkout = recorded(varying(upstream, "one"), pytester)
    varying(upstream, "other").at(pytester)
    asked = upstream.count
    checkout.run_afresh("eval", "--record=missing", "--recall-mode", "pr").assert_outcomes(passed=2)
    assert upstream.count == asked + 2
    assert upstream.headers[-1]["x-variant"] == "other"
    checkout.run(*DRY)
    assert {one["state"] for one in found(checkout).values()} == {"unaffected"}
    assert len(calls(cassette(checkout, "a"))) == 1


def test_it_is_asked_whether_or_not_a_replay_came_before(pytester: pytest.Pytester, upstream: Upstream) -> None:
    checkout = recorded(varying(upstream, "one"), pytester)
    varying(upstream, "other").at(pytester)
    asked = upstream.count
    checkout.run("eval", "--record=missing", "--recall-mode", "all").assert_outcomes(passed=2)
    assert upstream.count == asked + 2
    checkout.run("eval", "--record=missing", "--recall-mode", "all").assert_outcomes(passed=2)
    assert upstream.count == asked + 2


def test_a_replay_that_moves_boxes_misses_it(pytester: pytest.Pytester, upstream: Upstream) -> None:
    checkout = recorded(varying(upstream, "one"), pytester)
    trusted = ("eval", "--replay", "--recall-trust-replays", "--recall-mode", "all")
    checkout.run(*trusted, day="2026-03-20").assert_outcomes(passed=2)
    boxes, asked = checkout.boxes(), upstream.count
    (checkout.path / "eval/conftest.py").write_text(varying(upstream, "other").files["eval/conftest.py"])
    result = checkout.run(*trusted, day="2026-04-20")
    result.assert_outcomes(errors=2)
    assert LINE in result.stdout.str()
    assert checkout.boxes() == boxes
    assert upstream.count == asked


def test_a_header_that_the_rubric_ignores_affects_nothing(pytester: pytest.Pytester, upstream: Upstream) -> None:
    checkout = recorded(varying(upstream, "one"), pytester)
    rubric = {"eval/rubric.yaml": "owner: us\nvolatile: [header.x-variant]\n"}
    varying(upstream, "other").with_files(rubric).at(pytester)
    checkout.run(*DRY)
    assert {one["state"] for one in found(checkout).values()} == {"unaffected"}


def test_recordings_without_headers_are_compared_by_what_they_have(
    pytester: pytest.Pytester, upstream: Upstream
) -> None:
    checkout = recorded(varying(upstream, "one", "late"), pytester, 3)
    for case_id in ("a", "b"):
        path = cassette(checkout, case_id)
        older = [one._replace(request=one.request._replace(others=None)) for one in calls(path)]
        plain = {name: value for name, value in read_header(path, "a").items() if name not in ("crc", "headers")}
        write_cassette(path, plain, older, Rules())
        assert b'"others"' not in path.read_bytes()
    varying(upstream, "other", "late").at(pytester)
    result = checkout.run(*DRY)
    assert {case_id: one["state"] for case_id, one in found(checkout).items()} == {
        "a": "unaffected",
        "b": "unaffected",
        "late": "changed",
    }
    result.stdout.fnmatch_lines(
        ["  2 cases are compared without the headers that their recordings lack; --record them again"]
    )


INDEXED = """\
@pytest.fixture(scope="session")
def index():
    return httpx_sync("all", headers={{"X-Variant": {variant!r}}})


@pytest.fixture
def agent(index):
    return lambda question: httpx_sync(question) + index
"""


def test_a_fixture_that_cases_share_affects_all_of_them(pytester: pytest.Pytester, upstream: Upstream) -> None:
    def project(variant: str) -> Project:
        return talking(upstream, INDEXED.format(variant=variant)).with_cases(asking("a"), asking("b"))

    checkout = recorded(project("one").with_state(a=row(1), b=row(1)), pytester)
    checkout.run(*DRY)
    assert {one["state"] for one in found(checkout).values()} == {"unaffected"}
    project("other").at(pytester)
    checkout.run(*DRY)
    assert {one["state"] for one in found(checkout).values()} == {"changed"}


def test_agents_that_ask_through_the_sdks_as_before_are_not_affected(
    pytester: pytest.Pytester, upstream: Upstream
) -> None:
    pytest.importorskip("openai")
    pytest.importorskip("anthropic")
    bodies = {
        way.replace("_", "-"): f"return asyncio.run({way}('x'))" if "async" in way else f"return {way}('x')"
        for way in SDK_WAYS
    }
    project = talking(upstream, agents(bodies)).with_cases(*map(asking, bodies))
    checkout = recorded(project.with_state(**{name: row(1) for name in bodies}), pytester, len(bodies))
    checkout.run_afresh(*DRY)
    assert {case_id: one["state"] for case_id, one in found(checkout).items()} == dict.fromkeys(bodies, "unaffected")
    assert not any("lacks_headers" in one for one in found(checkout).values())
