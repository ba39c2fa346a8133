"""Equal calls that differ in a header which is not matched, in processes of their own."""

from __future__ import annotations

import pytest

from tests.helpers.talking import agent, asking, talking, trial
from tests.helpers.upstream import Upstream

BODY = """\
import os
import httpx2
answers = {}
for tenant in os.environ["TENANTS"].split(","):
    done = httpx2.get(URL + "/.well-known/counted", headers={"x-tenant": tenant})
    answers[tenant] = str(done.json()["number"])
return " ".join(answers[tenant] for tenant in sorted(answers))"""
REPLAY = ("eval", "--replay", "--recall-mode=all")


def test_a_recording_names_the_header_and_a_replay_goes_by_it(
    pytester: pytest.Pytester, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout = talking(upstream, agent(BODY)).with_cases(asking("a")).at(pytester)
    monkeypatch.setenv("TENANTS", "acme,zen")
    result = checkout.run_afresh("eval", "--record")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*a.ndjson*`match_headers: [[]x-tenant]`*"])
    before = trial(checkout, "a").answer
    assert before is not None
    upstream.close()
    monkeypatch.setenv("TENANTS", "zen,acme")
    assert checkout.run_afresh(*REPLAY).ret == 0
    assert trial(checkout, "a").answer == before
    monkeypatch.setenv("TENANTS", "acme,other")
    result = checkout.run_afresh(*REPLAY)
    result.assert_outcomes(errors=1)
    assert "match_headers: [x-tenant]" in result.stdout.str()


def test_a_recording_names_the_credential_that_tells_calls_apart_and_stores_none(
    pytester: pytest.Pytester, upstream: Upstream
) -> None:
    body = """\
import httpx2
asked = (httpx2.get(URL + "/.well-known/counted", headers={"x-api-key": key}) for key in ("of-ana-7", "of-ben-8"))
return " ".join(str(done.json()["number"]) for done in asked)"""
    checkout = talking(upstream, agent(body)).with_cases(asking("a")).at(pytester)
    result = checkout.run_afresh("eval", "--record")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*a.ndjson*`x-api-key`*"])
    kept = [path.read_bytes() for path in (checkout.path / "eval").rglob("*") if path.suffix in (".ndjson", ".jsonl")]
    assert kept
    assert not any(b"of-ana-7" in text or b"of-ben-8" in text for text in kept)
    rubric = "owner: ana\nblocks: failure\nvolatile: [header.x-api-key]\n"
    (checkout.path / "eval/rubric.yaml").write_text(rubric)
    assert "x-api-key" not in checkout.run_afresh("eval", "--record", "--recall-mode=all").stdout.str()
