"""Judges: fixtures named `judge_<name>`, what they get, what they may say, and whose threshold holds."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest

from tests.helpers.project import ECHOING, WORKERS, Project, case

RUBRIC = "owner: us\nblocks: failure\n"
OWN = """

@pytest.fixture
def judge_brief():
    \"\"\"Pass if the answer has at most `words` words.\"\"\"

    def judge(answer, case, *, words=3):
        count = len(answer.text.split())
        return count <= words, f"{count} words, more than {words}"

    return judge


@pytest.fixture(scope="session")
def judge_polite():
    async def judge(answer, case):
        return 0.6

    return judge


@pytest.fixture
def judge_says():
    from pytest_recall import Verdict

    def judge(answer, case, **given):
        return Verdict(**{"passed": None, **given})

    return judge
"""
JUDGED = ECHOING.with_files({"eval/conftest.py": ECHOING.files["eval/conftest.py"] + OWN})


def judged(*judges: Any, **given: Any) -> Project:
    """Return a project with one case that these judges decide."""
    return JUDGED.with_cases(case("a", **{"judges": list(judges), "input": "two words", **given}))


def test_the_built_in_judges_and_those_of_ones_own_are_there(pytester: pytest.Pytester) -> None:
    given: list[tuple[Any, Any, str]] = [
        ("exact", ["no", "two words"], "two  words"),
        ("contains", "WORDS", "two words"),
        ({"contains": {"any": True}}, ["zero", "two"], "two words"),
        ({"contains": {"absent": "three"}}, None, "two words"),
        ({"regex": "w.rds$"}, None, "two words"),
        ("numeric", 1250, "It costs 1,250 pounds"),
        ({"token_f1": {"threshold": 0.6}}, "two three", "two three four"),
        ("brief", None, "two words"),
        ({"brief": {"words": 2}}, None, "two words"),
        ("polite", None, "two words"),
    ]
    if importlib.util.find_spec("jsonschema"):  # It is an extra.
        given.append(({"json_schema": {"schema": {"required": ["id"]}}}, None, '{"id": 1}'))
    cases = [
        case(f"c{n}", judges=[judge], expected=expected, input=text) for n, (judge, expected, text) in enumerate(given)
    ]
    result = JUDGED.with_cases(*cases).at(pytester).run("eval", "--recall-mode=all")
    result.assert_outcomes(passed=len(given))


def test_judges_run_on_workers_and_the_rubric_reaches_them(pytester: pytest.Pytester) -> None:
    rubric = {"eval/rubric.yaml": RUBRIC + "thresholds: {says: 0.6}\n"}
    cases = (
        case("a", judges=["brief", "polite", "exact"], input="two words"),
        case("b", judges=[{"says": {"score": 0.5}}]),
    )
    checkout = JUDGED.with_cases(*cases).with_files(rubric).at(pytester)
    checkout.run("eval", "-n1")
    assert checkout.outcomes() == {"a": "passed", "b": "failed"}


def test_its_reason_is_the_failure_note_and_every_failing_one_is_named(pytester: pytest.Pytester) -> None:
    """What was missed is said, too; and a built-in judge can be replaced."""
    cases = (
        case("a", judges=[{"brief": {"words": 1}}], input="two words"),
        case("b", judges=[{"says": {"score": 0.2, "reason": "half of it"}}]),
        case("c", judges=[{"brief": {"words": 1}}, "exact", {"contains": "nothing"}], input="two words"),
    )
    own = "import pytest\n\n\n@pytest.fixture\ndef judge_exact(judge_exact):\n"
    files = {"eval/own/conftest.py": f"{own}    return lambda answer, case: (False, 'mine')\n"}
    made = JUDGED.with_cases(*cases).with_cases(case("d"), file="eval/own/it.cases.yaml").with_files(files)
    checkout = made.at(pytester)
    checkout.run("eval").assert_outcomes(failed=4)
    notes = {
        "a": "brief: 2 words, more than 1",
        "b": "says: half of it, below 0.5",
        "c": "brief: 2 words, more than 1; contains: no “nothing” in “two words”",
        "d": "exact: mine",
    }
    assert {name: found.failure_note for name, found in checkout.state().items()} == notes
    assert {one["id"]: one["note"] for one in checkout.scorecard()["failed"]} == notes


class TestThreshold:
    """A judge that only scores: the call's threshold, then the case's, then the rubric's, then 0.5."""

    @pytest.mark.parametrize(
        ("rubric", "given"),
        [
            ("", {("says", 0.49, None, None): False, ("says", 0.5, None, None): True}),
            (
                "thresholds: {says: 0.6}\n",
                {
                    ("says", 0.5, None, None): False,
                    ("says", 0.5, None, 0.5): True,
                    ("says", 0.65, 0.7, 0.5): False,
                    ("says", 0.0, 0, 0.5): True,
                },
            ),
        ],
        ids=["none", "rubric"],
    )
    def test_the_nearest_one_decides(
        self, pytester: pytest.Pytester, rubric: str, given: dict[tuple[str, float, float | None, float | None], bool]
    ) -> None:
        cases = []
        for number, (judge, score, of_call, of_case) in enumerate(given):
            arguments = {"score": score, **({} if of_call is None else {"threshold": of_call})}
            threshold = {} if of_case is None else {"threshold": of_case}
            cases.append(case(f"c{number}", judges=[{judge: arguments}], **threshold))
        checkout = JUDGED.with_cases(*cases).with_files({"eval/rubric.yaml": RUBRIC + rubric}).at(pytester)
        checkout.run("eval")
        expected = {f"c{number}": "passed" if passes else "failed" for number, passes in enumerate(given.values())}
        assert checkout.outcomes() == expected

    def test_a_rubric_threshold_for_no_judge_stops_the_run(self, pytester: pytest.Pytester) -> None:
        project = judged("exact").with_files({"eval/rubric.yaml": "owner: us\nthresholds: {token_f2: 0.5}\n"})
        checkout = project.at(pytester)
        result = checkout.run("eval")
        assert result.ret != 0
        result.stdout.fnmatch_lines(
            ["*eval/rubric.yaml: thresholds: unknown judge `token_f2`; did you mean `token_f1`?*"]
        )
        assert checkout.asked() == []


class TestMistakes:
    """What is wrong with a judge is said before or instead of a verdict, and costs nothing."""

    @WORKERS
    def test_an_unknown_judge_is_an_error_with_the_known_ones(
        self, pytester: pytest.Pytester, workers: tuple[str, ...]
    ) -> None:
        project = JUDGED.with_cases(case("a"), case("b", judges=["exat", "brief"]))
        checkout = project.at(pytester)
        result = checkout.run("eval", *workers)
        assert result.ret == pytest.ExitCode.INTERRUPTED
        said = [
            line for line in result.outlines if "unknown judge" in line and not line.startswith(("ERROR", "partial: "))
        ]
        assert said == [
            "eval/cases.yaml:7: judges: unknown judge `exat`; did you mean `exact`? known: benchmark, brief, contains,"
            " exact, json_schema, memory, numeric, pairwise, paper, polite, recall_at_k, regex, rubric, says,"
            " similarity, token_f1; to add it, write a fixture `judge_exat`"
        ]
        assert "Traceback" not in result.stdout.str()
        assert checkout.asked() == []
        assert checkout.state() == {}

    def test_bad_arguments_and_verdicts_are_errors(self, pytester: pytest.Pytester) -> None:
        wrong: list[Any] = [
            {"brief": {"word": 2}},
            {"says": {"threshold": "high", "score": 1}},
            {"says": {"score": 7}},
            {"says": {}},
        ]
        cases = [case(f"c{number}", judges=["exact", judge]) for number, judge in enumerate(wrong)]
        checkout = JUDGED.with_cases(*cases).at(pytester)
        result = checkout.run("eval")
        result.assert_outcomes(errors=len(wrong))
        said = [trial.error.partition(":")[0] for trial in checkout.journal().trials]
        assert sorted(said) == ["judge brief", *["judge says"] * 3]
        assert checkout.state() == {}
        assert "c0" not in checkout.asked(), "arguments that a judge does not take are found before the agent is asked"

    def test_all_that_is_wrong_with_built_in_judges_is_said_at_once_before_anything_is_asked(
        self, pytester: pytest.Pytester
    ) -> None:
        cases = (
            case("fine"),
            case("argument", judges=[{"contains": {"ignorecase": True}}]),
            case("regex", expected="(", judges=["exact", "regex", "exat"]),
            case("nothing", expected=None, judges=["contains", "exact"]),
            case("decides", judges=[{"exact": {"threshold": 0.5}}]),
            case("scores", judges=["exact"], threshold=0.5),
            case("own", judges=["brief"], threshold=0.5),
        )
        checkout = JUDGED.with_cases(*cases).at(pytester)
        result = checkout.run("eval", "--recall-mode=all")
        assert result.ret != 0
        said = [line.split(":") for line in result.outlines if line.startswith("eval/cases.yaml:")]
        assert [(int(line), about.strip()) for _, line, about, *_ in said] == [
            *((number, "judges") for number in (7, 13, 13, 19, 19, 25)),
            (31, "threshold"),
        ]
        assert checkout.asked() == []

    def test_a_case_that_is_chosen_by_its_node_id_needs_no_judges_of_others(self, pytester: pytest.Pytester) -> None:
        cases = (case("fine"), case("other", judges=["exat", "rubric"]), case("wrong", judges=["exact", "exat"]))
        checkout = JUDGED.with_cases(*cases).at(pytester)
        checkout.run("eval/cases.yaml::fine").assert_outcomes(passed=1)
        for whole in (("eval/cases.yaml::wrong",), ("eval/cases.yaml::fine", "eval")):
            result = checkout.run(*whole, "--recall-mode=all")
            assert result.ret != 0
            result.stdout.fnmatch_lines(["eval/cases.yaml:*: judges: unknown judge `exat`*"])
