"""What a change affects is priced before it is asked, at the model that will be asked, and held to a budget."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_recall.results.scorecard import blocking
from pytest_recall.runs.finish import scorecard as summary_of
from tests.helpers.project import WORKERS, Checkout, Project, case
from tests.helpers.repository import Repository
from tests.helpers.talking import agent, talking
from tests.helpers.upstream import Upstream

pytest.importorskip("openai")

NAMES = [f"c{number}" for number in range(6)]
# A call writes 5 tokens by the upstream, as many as it may: $0.0011 each. That of the other model is ten times as much.
RUBRIC = """\
owner: ana
model_primary: gpt-4o-mini
prices:
  gpt-4o-mini: {input: 0, output: 220}
  dear: {input: 0, output: 2200}
"""
EVIDENCE, TWICE = "confirm: evidence\n", "confirm: 2of3\n"
CHANGE = ("eval", "--recall-mode", "pr", "--recall-base", "base")


def source(prompt: str = "say", model: str = "gpt-4o-mini") -> str:
    """Return an agent that asks through the SDK of OpenAI."""
    return agent(
        f"with openai_client(max_retries=0) as client:\n"
        f"    messages = said(f'echo {prompt} {{question}}')\n"
        f"    done = client.chat.completions.create(messages=messages, model={model!r}, max_tokens=5)\n"
        "    return done.choices[0].message.content.upper()"
    )


def project(upstream: Upstream, text: str, rubric: str) -> Project:
    cases = [case(name, judges=[{"contains": name.upper()}, {"contains": "SAY"}]) for name in NAMES]
    return talking(upstream, text).with_cases(*cases).with_files({"eval/rubric.yaml": RUBRIC + rubric})


def changed(
    pytester: pytest.Pytester,
    upstream: Upstream,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    rubric: str = EVIDENCE,
) -> Checkout:
    """Return a checkout whose base has recordings of all cases, and whose agent is `text` since."""
    for name in ("CI", "GITHUB_ACTIONS"):
        monkeypatch.delenv(name, raising=False)
    checkout = project(upstream, source(), rubric).at(pytester)
    (checkout.path / ".gitignore").write_text("__pycache__\neval/_artifacts\n")
    assert checkout.run_apart("eval", "--record", "--recall-mode=all").ret == pytest.ExitCode.OK
    repository = Repository.at(Path(checkout.path))
    repository.commit()
    repository.git("branch", "base")
    project(upstream, text, rubric).at(pytester)
    upstream.bodies.clear()
    return checkout


def told(result: pytest.RunResult) -> list[str]:
    """Return the lines of a run that are about the money of what is affected."""
    return [line for line in result.outlines if "affected cases would cost" in line]


def spent(checkout: Checkout) -> float:
    """Return what the newest run has spent, in US dollars."""
    usd = checkout.scorecard()["cost"]["total"]["spent"]["usd"]
    assert isinstance(usd, float)
    return usd


@pytest.mark.parametrize(
    ("rubric", "cost"),
    [
        ("", "about $0.0066"),
        (TWICE, "about $0.0066, $0.0198 at most"),
        (EVIDENCE, "about $0.0066, $0.0198 at most"),
    ],
    ids=["no rule", "2of3", "evidence"],
)
def test_a_run_says_what_its_affected_cases_cost_and_what_they_cost_at_most(
    pytester: pytest.Pytester, upstream: Upstream, monkeypatch: pytest.MonkeyPatch, rubric: str, cost: str
) -> None:
    checkout = changed(pytester, upstream, monkeypatch, source("now say"), rubric)
    result = checkout.run_apart(*CHANGE)
    assert told(result) == [f"recall: 6 affected cases would cost {cost}"]
    assert result.ret == pytest.ExitCode.OK
    assert spent(checkout) == pytest.approx(0.0066)


def test_the_case_that_is_checked_live_costs_what_its_recording_has_cost(
    pytester: pytest.Pytester, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout = changed(pytester, upstream, monkeypatch, f"{source()}\n# Of no matter to what is asked.\n")
    result = checkout.run_apart(*CHANGE)
    assert "live check" in checkout.slice().values()
    [line] = [line for line in result.outlines if "1 affected case would cost" in line]
    assert "$0.0011" in line


@WORKERS
def test_a_budget_reaches_what_it_can_pay_and_the_check_fails(
    pytester: pytest.Pytester, upstream: Upstream, monkeypatch: pytest.MonkeyPatch, workers: tuple[str, ...]
) -> None:
    checkout = changed(pytester, upstream, monkeypatch, source("now say"), f"{EVIDENCE}budget: 0.01\n")
    result = checkout.run_apart(*CHANGE, "--budget", "0.0054", *workers)
    assert told(result) == [
        "recall: 6 affected cases would cost about $0.0066, $0.0198 at most; the budget of $0.0054 reaches 4 of them"
    ]
    assert 0 < spent(checkout) <= 0.0054
    card = checkout.scorecard()
    assert len(card["not_evaluated"]) == 6 - len(upstream.bodies)
    record = checkout.journal()
    # Two workers reserve at the same time, so that one more case may not be reached.
    why, *_ = blocking(record, summary_of(record), "failure")
    assert why.startswith(f"{6 - len(upstream.bodies)} of 6 affected cases were not evaluated")


def test_fails_that_are_asked_again_stay_within_the_budget(
    pytester: pytest.Pytester, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of the six fails twice: $0.0132 is needed where the estimate was $0.0066."""
    checkout = changed(pytester, upstream, monkeypatch, source("answer"), f"{TWICE}budget: 0.008\n")
    result = checkout.run_apart(*CHANGE)
    assert told(result)[0].endswith("$0.0198 at most; the budget of $0.008 reaches all of them")
    assert spent(checkout) == pytest.approx(0.0077)
    assert len(upstream.bodies) == 7
    assert result.ret == pytest.ExitCode.TESTS_FAILED


class TestOtherModel:
    """A change of the agent's model."""

    def test_the_price_is_that_of_the_model_which_is_asked(
        self, pytester: pytest.Pytester, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        checkout = changed(pytester, upstream, monkeypatch, source(model="dear"))
        result = checkout.run_apart(*CHANGE, "--model", "dear", "--budget", "0.06")
        assert told(result) == [
            "recall: 6 affected cases would cost about $0.066, $0.198 at most, at the price of `dear` for the tokens"
            " that `gpt-4o-mini` took; the budget of $0.06 reaches 5 of them"
        ]
        assert spent(checkout) == pytest.approx(0.055)

    def test_a_price_that_is_not_known_is_not_that_of_the_old_model(
        self, pytester: pytest.Pytester, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        checkout = changed(pytester, upstream, monkeypatch, source(model="nobodys"))
        result = checkout.run_apart(*CHANGE, "--model", "nobodys", "--budget", "0.06")
        result.stdout.fnmatch_lines(
            [
                "recall: 6 affected cases * unknown",
                "recall:     nobodys: {input: USD, output: USD}",
            ]
        )

    def test_the_estimate_of_a_slice_says_so_as_well(
        self, pytester: pytest.Pytester, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        checkout = changed(pytester, upstream, monkeypatch, source())
        estimate = ("schedule", "estimate", "--mode", "all")
        usual = checkout.recall(*estimate).outlines
        assert usual[0].startswith("6 cases: about $0.0066, $0.0264 at most, at list price with every call live; ")
        other = checkout.recall(*estimate, "--model", "dear").outlines
        assert other[0].startswith("6 cases: about $0.066, $0.264 at most, ")
        assert other[-1] == "at the price of `dear` for the tokens that `gpt-4o-mini` took"
        unknown = checkout.recall(*estimate, "--model", "nobodys").outlines
        assert unknown[0].startswith("6 cases: cost unknown, ")
        assert unknown[-1] == "    nobodys: {input: USD, output: USD}"
