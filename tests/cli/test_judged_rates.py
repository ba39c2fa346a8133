"""A run by a judge on the loopback device: its rate with the judge's errors taken out, and beside another judge's."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator

import pytest

from tests.helpers.kept import after
from tests.helpers.project import Checkout, Project
from tests.helpers.scripted import asks, judged, model, sections
from tests.models.endpoint import Answer, Asked, Endpoint, chat, endpoint

RIGHT, BOASTING, WRONG, MODEST = "sure and true", "sure and not so", "no idea", "maybe true"
"""Answers: a judge passes what is sure of itself, and people pass what is true."""
LABELS = [(RIGHT, "pass")] * 22 + [(BOASTING, "fail")] * 8 + [(WRONG, "fail")] * 18 + [(MODEST, "pass")] * 2
GIVEN = [RIGHT] * 12 + [BOASTING] * 6 + [WRONG] * 10 + [MODEST] * 2


def opinion(asked: Asked) -> Answer:
    """Return the judgement: `stern` passes nothing that is not true."""
    answer = sections(asked.body["messages"][-1]["content"])["ANSWER"]
    passes = "true" in answer if asked.body["model"] == "stern" else answer.startswith("sure")
    return chat(json.dumps({"reasoning": "It sounds like it.", "scores": {"requirement": int(passes)}}))


@pytest.fixture(name="judge", scope="module")
def _judge() -> Iterator[Endpoint]:
    with endpoint(opinion) as running:
        yield running


def project(judge: Endpoint, labels: list[tuple[str, str]] = LABELS) -> Project:
    """Return a project of cases with these answers, and labels for their judge."""
    lines = [
        {"id": f"l{n}", "question": "Is it?", "answer": answer, "label": label, "arguments": {"expected": "is right"}}
        for n, (answer, label) in enumerate(labels)
    ]
    cases = [asks(f"c{n:02}", answer) for n, answer in enumerate(GIVEN)]
    rubric = f"owner: us\njudge: {{model: '{judge.url}/v1#bold', preflight: 'off'}}\nblocks: never\n"
    return judged(*cases).with_files(
        {"labels.jsonl": "".join(json.dumps(one) + "\n" for one in lines), "eval/rubric.yaml": rubric}
    )


@pytest.fixture(name="calibrated")
def _calibrated(pytester: pytest.Pytester, judge: Endpoint) -> Checkout:
    """A project whose judge was calibrated, and judged a run after that."""

    def begin() -> Checkout:
        checkout = project(judge).at(pytester)
        assert checkout.recall_apart("judges", "calibrate", "labels.jsonl", "--write").ret == 0
        whole(checkout)
        return checkout

    return after(pytester, f"judged by {judge.url}", begin)


def whole(checkout: Checkout, *more: str) -> None:
    """Run all cases in a process of its own, in which the SDK of the judge is there already."""
    result = checkout.run_apart("eval", "--recall-mode", "all", *more)
    assert f"in {len(GIVEN)} items" not in result.stdout.str()
    assert len(checkout.outcomes()) == len(GIVEN)
    assert "error" not in checkout.outcomes().values()


def lines(result: pytest.RunResult, *words: str) -> list[str]:
    """Return the lines that have all of these words."""
    return [line for line in result.outlines if all(word in line for word in words)]


TOLD = re.compile(
    r"[Jj]udge rubric, http://127\.0\.0\.1:\d+/v1#bold, version [0-9a-f]{8} passes 60\.0 % of 30 answers;"
    r" with its errors taken out 48\.0 % \(95 %: (\d+\.\d) to (\d+\.\d) %\), from 50 labels"
)


def test_the_rate_of_a_run_with_the_errors_of_its_judge_taken_out(calibrated: Checkout) -> None:
    """18 of 30 answers sound right, and by 50 labels six in fifty too many do: 48 %, where 14 of 30 are true."""
    checkout = calibrated
    assert "n: 50, labelled_passes: 24, false_passes: 8, false_fails: 2," in (
        checkout.path / "eval/calibration.yaml"
    ).read_text(encoding="utf-8")
    (told,) = lines(checkout.recall("score"), "errors taken out")
    found = TOLD.fullmatch(told)
    assert found is not None, told
    low, high = map(float, found.groups())
    assert low < 100 * 14 / 30 < high
    markdown = checkout.recall("score", "--markdown")
    (line,) = lines(markdown, "errors taken out")
    assert TOLD.fullmatch(line.removeprefix("- ").removesuffix(".").replace("\\", "")), line
    assert markdown.outlines.index(line) < markdown.outlines.index("<details>"), "it is not folded"
    (plain,) = json.loads(checkout.recall("score", "--json").stdout.str())["judged_rates"]
    assert (plain["answers"], plain["passed"], plain["rate"], plain["not_corrected"]) == (30, 18, 0.6, None)
    assert plain["corrected"] == pytest.approx(0.48)
    assert [round(100 * bound, 1) for bound in plain["interval"]] == [low, high]
    assert plain["labels"] == {"n": 50, "right_passes": 22, "false_passes": 8, "right_fails": 18, "false_fails": 2}
    assert checkout.recall("report").ret == 0
    page = next((checkout.path / "eval/_artifacts").glob("*T*/report.html")).read_text(encoding="utf-8")
    assert f"with its errors taken out 48.0 % (95 %: {low} to {high} %), from 50 labels" in page


def test_what_is_not_corrected_is_said_once(pytester: pytest.Pytester, judge: Endpoint) -> None:
    few = [LABELS[0], LABELS[25], LABELS[45]] * 4
    checkout = project(judge, few).at(pytester)
    whole(checkout)
    (told,) = lines(checkout.recall("score"), "not corrected")
    assert re.fullmatch(r"not corrected for a judge's errors: rubric, http\S+#bold \(no labels\)", told)
    assert checkout.recall_apart("judges", "calibrate", "labels.jsonl", "--write").ret == 0
    for shape in ((), ("--markdown",)):
        (told,) = lines(checkout.recall("score", *shape), "ot corrected")
        assert "12 labels, 30 are the least" in told
    (plain,) = json.loads(checkout.recall("score", "--json").stdout.str())["judged_rates"]
    assert (plain["corrected"], plain["interval"]) == (None, None)
    assert plain["not_corrected"] == "12 labels, 30 are the least"


def test_runs_by_different_judges_are_compared_with_a_warning(calibrated: Checkout, judge: Endpoint) -> None:
    checkout = calibrated
    (run,) = checkout.artifacts.runs()
    again = run.with_name("2026-03-01T000000")
    shutil.copytree(run, again)
    journal = (run / "trials.jsonl").read_text(encoding="utf-8").replace(run.name, again.name)
    (again / "trials.jsonl").write_text(journal, encoding="utf-8")
    alike = checkout.recall("compare", "previous", "latest")
    assert (alike.ret, lines(alike, "different judges")) == (0, []), alike.errlines
    assert len(lines(alike, "errors taken out", "(99 %: ")) == 2
    whole(checkout, "--judge", f"{judge.url}/v1#stern")
    apart = checkout.recall("compare", "previous", "latest")
    (told,) = lines(apart, "different judges")
    version = r"version [0-9a-f]{8}"
    assert re.fullmatch(
        rf"The runs were judged by different judges: in BASE rubric, \S+#bold, {version}, and in HEAD rubric,"
        rf" \S+#stern, {version}\. The difference may be theirs\.",
        told,
    )
    figures = next(place for place, line in enumerate(apart.outlines) if line.startswith("BASE  "))
    assert apart.outlines.index(told) < figures
    assert len(lines(apart, "BASE  judge rubric", "errors taken out")) == 1
    assert len(lines(apart, "not corrected", "#stern", "(no labels)")) == 1
    plain = json.loads(checkout.recall("compare", "previous", "latest", "--json").stdout.str())
    assert plain["other_judges"]["cases"] == len(GIVEN)
    assert [one["passed"] for name in ("base", "head") for one in plain["judged_rates"][name]] == [18, 14]
    assert checkout.recall("report", "previous", "latest", "-o", "both.html").ret == 0
    page = (checkout.path / "both.html").read_text(encoding="utf-8")
    assert page.index("were judged by different judges") < page.index("exact p")


def test_a_panel_that_votes_and_is_appealed_against_is_corrected_as_a_whole(pytester: pytest.Pytester) -> None:
    """Its passes name the panel and its fails the appellate judge, and neither alone is who judged the answers."""
    labels = [
        {
            "id": f"l{n}",
            "question": "Is it?",
            "answer": f"{n} {'right' if n % 2 else 'no'}",
            "label": "pass" if n % 4 else "fail",
            "arguments": {"expected": "is right"},
        }
        for n in range(40)
    ]
    cases = [asks(f"c{n:02}", f"{n} {'right' if n % 3 else 'no'}") for n in range(30)]
    panel = judged(*cases, judge=["oracle", "third"], appellate="second", preflight="off")
    checkout = panel.with_files({"labels.jsonl": "".join(json.dumps(one) + "\n" for one in labels)}).at(pytester)
    assert checkout.recall("judges", "calibrate", "labels.jsonl", "--write").ret == 0
    checkout.run("eval", "--recall-mode", "all")
    verdicts = [verdict for trial in checkout.journal().trials for verdict in trial.verdicts]
    assert len({verdict.model for verdict in verdicts}) == 2
    (plain,) = json.loads(checkout.recall("score", "--json").stdout.str())["judged_rates"]
    oracle, third, second = map(model, ("oracle", "third", "second"))
    assert plain["model"] == f"{oracle} + {third}, appeals to {second}"
    assert (plain["answers"], plain["not_corrected"]) == (30, None)
    # People pass ten of forty labels that say no, which the judges fail but for what `second` makes of them.
    assert plain["labels"]["false_fails"] > 5
    assert plain["corrected"] > plain["rate"] + 0.1
