"""The hooks of a run, of a conftest.py or a package: they are called on the controller, and decide nothing.

What faults of theirs come to is in `screens/hooks.txt`.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.helpers.project import ECHOING, WORKERS, Checkout, Project, case, crashing, failing
from tests.helpers.screens import assert_screen

SCREENS = Path(__file__).parent / "screens"
PASSING = ECHOING.with_cases(case("a", input="one two"), case("b", input="one two three four"))
SET = PASSING.with_cases(failing("c"), file="eval/more.cases.yaml")


HEAD = "from pytest_recall.ext import Measure, Section, TextTable\n\n\n"


def with_hooks(source: str, project: Project = SET) -> Project:
    """Return the project with a conftest.py at its root."""
    return project.with_files({"conftest.py": HEAD + source})


MEASURES = """\
def words(case, trial):
    return len(trial.answer.text.split())


def pytest_recall_measures():
    return [
        Measure("words", "words of an answer", words),
        Measure("as_asked", "1 if it is the question", lambda case, trial: float(case.input == trial.answer.text)),
        Measure("of_a", "what `a` alone has", lambda case, trial: 7 if case.id == "a" else None),
    ]
"""


def measured(checkout: Checkout) -> dict[str, dict[str, float]]:
    """Return what was measured of the trials of the newest run, by case."""
    return {trial.case_id: dict(trial.custom_measures) for trial in checkout.journal().trials}


class TestMeasures:
    """A number of each answer, which the journal and the scorecard have."""

    @WORKERS
    def test_they_are_in_the_journal_and_their_means_in_the_scorecard(
        self, pytester: pytest.Pytester, workers: tuple[str, ...]
    ) -> None:
        checkout = with_hooks(MEASURES).at(pytester)
        result = checkout.run("eval", *workers)
        found = measured(checkout)
        assert found["a"] == {"as_asked": 1, "of_a": 7, "words": 2}
        assert found["b"] == {"as_asked": 1, "words": 4}
        assert list(found["a"]) == sorted(found["a"])
        assert checkout.journal().measures["words"] == "words of an answer"
        means = checkout.scorecard()["measures"]
        assert means["of_a"] == {"about": "what `a` alone has", "cases": 1, "mean": 7, "low": None, "high": None}
        assert (means["as_asked"]["cases"], means["as_asked"]["mean"]) == (3, 1)
        assert means["words"]["low"] < means["words"]["mean"] < means["words"]["high"]
        row = "as_asked *1 if it is the question * 3 * 1"
        result.stdout.fnmatch_lines([f"*{row}*"])
        assert "1 if it is the question" in (checkout.artifacts.folder / "scorecard.md").read_text(encoding="utf-8")

    def test_they_are_on_the_page_and_compared_by_case(self, pytester: pytest.Pytester) -> None:
        checkout = with_hooks(MEASURES).at(pytester)
        checkout.run("eval", "--recall-mode=all")
        source = MEASURES.replace("split())", "split()) + 1")
        (checkout.path / "conftest.py").write_text(HEAD + source)
        checkout.run("eval", "--recall-mode=all")
        assert checkout.recall("report").ret == 0
        page = next(checkout.artifacts.folder.rglob("report.html")).read_text(encoding="utf-8")
        assert "words of an answer" in page
        compared = checkout.recall("compare", "previous", "latest")
        compared.stdout.fnmatch_lines(["mean of of_a: 7 → 7, +0, 1 case", "mean of words: * +1, 3 cases"])

    def test_the_trials_of_a_case_are_one_value(self, pytester: pytest.Pytester) -> None:
        source = """\
COUNT = iter(range(100))


def pytest_recall_measures():
    return Measure("count", "which answer it is", lambda case, trial: next(COUNT))
"""
        checkout = with_hooks(source, ECHOING.with_cases(case("a", trials=4))).at(pytester)
        checkout.run("eval")
        found = checkout.scorecard()["measures"]["count"]
        assert (found["cases"], found["mean"]) == (1, 1.5)

    def test_what_has_no_answer_has_no_measures(self, pytester: pytest.Pytester) -> None:
        source = "def pytest_recall_measures():\n    return [Measure('one', 'one', lambda case, trial: 1)]\n"
        checkout = with_hooks(source, ECHOING.with_cases(crashing("a"))).at(pytester)
        checkout.run("eval")
        assert measured(checkout) == {"a": {}}
        assert checkout.scorecard()["measures"] is None

    def test_a_marked_test_has_no_case(self, pytester: pytest.Pytester) -> None:
        marked = 'import pytest\n\n\n@pytest.mark.recall("m")\ndef test_m():\n    pass\n'
        source = """\
from pathlib import Path


def pytest_recall_trial(case, trial):
    with Path(__file__).with_name("log.txt").open("a") as log:
        log.write(f"{trial.case_id} {case is None} {trial.answer is None}\\n")
"""
        checkout = with_hooks(source, PASSING).at(pytester)
        (checkout.path / "eval" / "test_m.py").write_text(marked, encoding="utf-8")
        checkout.run("eval")
        log = (checkout.path / "log.txt").read_text().splitlines()
        assert sorted(log) == ["a False False", "b False False", "m True True"]

    def test_a_resumed_run_measures_what_it_asks(self, pytester: pytest.Pytester) -> None:
        checkout = with_hooks(MEASURES).at(pytester)
        checkout.run("eval", "-x", "--deselect", "eval/cases.yaml::b", "--deselect", "eval/more.cases.yaml::c")
        assert set(measured(checkout)) == {"a"}
        checkout.run("eval", "--recall-resume=latest")
        assert checkout.scorecard()["measures"]["words"]["cases"] == 3


SEEN = """\
from pathlib import Path

LOG = Path(__file__).with_name("log.txt")


def pytest_recall_trial(case, trial):
    stands = LOG.parent.glob("eval/_artifacts/*/trials.jsonl")
    stands = any(f'"case_id":"{trial.case_id}"' in path.read_text() for path in stands)
    with LOG.open("a") as log:
        log.write(f"{trial.case_id} {case.id} {trial.outcome} {stands}\\n")


def pytest_recall_run_end(run, make_folder):
    folder = make_folder()
    (folder / "answers.txt").write_text(" ".join(sorted(trial.answer.text for trial in run.trials)))
    is_written = (folder.parents[1] / "scorecard.md").exists()
    (folder / "end.txt").write_text(f"{run.exit_code} {run.scorecard['counts']} {is_written}")
"""


class TestTrialsAndTheEnd:
    """What extensions do with a trial that stands in the journal, and with a run that has ended."""

    @WORKERS
    def test_each_trial_is_handed_on_in_the_order_of_the_journal(
        self, pytester: pytest.Pytester, workers: tuple[str, ...]
    ) -> None:
        checkout = with_hooks(SEEN).at(pytester)
        checkout.run("eval", *workers)
        log = (checkout.path / "log.txt").read_text().splitlines()
        trials = checkout.journal().trials
        assert log == [f"{trial.case_id} {trial.case_id} {trial.outcome} True" for trial in trials]
        folder = checkout.artifacts.runs()[-1] / "extensions" / "conftest.py"
        assert (folder / "end.txt").read_text() == "1 {'passed': 2, 'failed': 1} True"
        assert "one two three four" in (folder / "answers.txt").read_text()

    def test_every_trial_of_a_series_is_handed_on(self, pytester: pytest.Pytester) -> None:
        checkout = with_hooks(SEEN, ECHOING.with_cases(case("a", trials=3))).at(pytester)
        checkout.run("eval")
        assert len((checkout.path / "log.txt").read_text().splitlines()) == 3

    def test_a_folder_is_made_for_who_asks_for_it(self, pytester: pytest.Pytester) -> None:
        source = "def pytest_recall_run_end(run):\n    print(run.name)\n"
        checkout = with_hooks(source, PASSING).at(pytester)
        checkout.run("eval")
        assert not (checkout.artifacts.runs()[-1] / "extensions").exists()

    def test_a_run_that_asks_nothing_calls_nothing(self, pytester: pytest.Pytester) -> None:
        checkout = with_hooks(SEEN).at(pytester)
        checkout.run("eval", "--collect-only")
        assert not (checkout.path / "log.txt").exists()

    @WORKERS
    @pytest.mark.parametrize("hook", ["trial", "run_end"])
    def test_a_fault_fails_nothing(self, pytester: pytest.Pytester, workers: tuple[str, ...], hook: str) -> None:
        others = {"trial": "case, trial", "run_end": "run"}[hook]
        source = f"def pytest_recall_{hook}({others}):\n    raise SystemExit(3)\n"
        checkout = with_hooks(source, PASSING).at(pytester)
        result = checkout.run("eval", *workers)
        assert (result.ret, checkout.outcomes()) == (0, {"a": "passed", "b": "passed"})
        assert checkout.boxes() == {"a": 1, "b": 1}
        assert checkout.scorecard()["exit_code"] == 0
        assert len(notes_of(checkout, result).splitlines()) == 1


SECTIONS = """\
def pytest_recall_sections(trials):
    rows = [(trial.case_id, str(len(trial.answer.text))) for trial in sorted(trials, key=lambda one: one.case_id)]
    facts = {case: int(length) for case, length in rows}
    table = TextTable("", ("case", "characters"), rows)
    return Section("Lengths", [table], ["Counted with care."], ["2 answers\\x1b[31m"], key="lengths", facts=facts)
"""


class TestSections:
    """What extensions add to the scorecard of a run."""

    @WORKERS
    def test_a_section_is_in_every_form_of_the_scorecard(
        self, pytester: pytest.Pytester, workers: tuple[str, ...]
    ) -> None:
        checkout = with_hooks(SECTIONS, PASSING).at(pytester)
        result = checkout.run("eval", *workers)
        result.stdout.fnmatch_lines(["2 answers*", "b * 18", "Counted with care."])
        facts = {"lengths": {"a": 7, "b": 18}}
        assert checkout.scorecard()["extensions"] == facts
        assert checkout.journal().sections[0].facts == facts["lengths"]
        page = (checkout.artifacts.folder / "scorecard.md").read_text(encoding="utf-8")
        assert "| b | 18 |" in page
        (checkout.path / "conftest.py").unlink()
        again = checkout.recall("score", "latest", "-v")
        again.stdout.fnmatch_lines(["2 answers*"])
        assert "\x1b[31m" not in str(again.stdout) + str(result.stdout)
        assert checkout.recall("report").ret == 0
        html = next(checkout.artifacts.folder.rglob("report.html")).read_text(encoding="utf-8")
        assert "Counted with care." in html

    def test_the_facts_of_a_section_take_the_place_of_no_others(self, pytester: pytest.Pytester) -> None:
        source = "def pytest_recall_sections():\n    return [Section('Mine', lines=['x'], key='cost', facts=1)]\n"
        checkout = with_hooks(source, PASSING).at(pytester)
        checkout.run("eval")
        card = checkout.scorecard()
        assert (card["extensions"], card["cost"]["total"]["calls"]) == ({"cost": 1}, 0)

    def test_a_resumed_run_has_the_sections_of_its_end(self, pytester: pytest.Pytester) -> None:
        checkout = with_hooks(SECTIONS, PASSING).at(pytester)
        checkout.run("eval", "--deselect", "eval/cases.yaml::b")
        assert checkout.scorecard()["extensions"] == {"lengths": {"a": 7}}
        checkout.run("eval", "--recall-resume=latest")
        assert checkout.journal().sections[0].facts == {"a": 7, "b": 18}
        assert len(checkout.journal().sections) == 1


FAULTS = {
    "it raises": 'return [Measure("bad", "", lambda case, trial: 1 / 0)]',
    "it ends the process": 'return [Measure("bad", "", lambda case, trial: exit(3))]',
    "no number": 'return [Measure("bad", "", lambda case, trial: "7")]',
    "a bool": 'return [Measure("bad", "", lambda case, trial: True)]',
    "not a number": 'return [Measure("bad", "", lambda case, trial: float("nan"))]',
    "without an end": 'return [Measure("bad", "", lambda case, trial: float("inf"))]',
    "too large": 'return [Measure("bad", "", lambda case, trial: 10**400)]',
    "no function": 'return [Measure("bad", "", None)]',
    "no word": 'return [Measure("a b", "", lambda case, trial: 1)]',
    "twice": 'return [Measure("bad", "", lambda case, trial: None), Measure("bad", "", lambda case, trial: None)]',
    "no measures": 'return ["bad"]',
    "no list": "return 7",
    "a list with a fault": 'yield Measure("good", "", lambda case, trial: 1)\n    raise KeyError("x")',
    "the hook raises": 'raise ValueError("x")',
}
OTHER_FAULTS = {
    "of each trial": "def pytest_recall_trial(trial):\n    raise ValueError(trial.scenario)\n",
    "of a section that raises": "def pytest_recall_sections(trials):\n    raise ValueError(len(trials))\n",
    "no section": "def pytest_recall_sections():\n    return ['x']\n",
    "a row too short": (
        "def pytest_recall_sections():\n    return [Section('A', [TextTable('', ('a', 'b'), [('1',)])])]\n"
    ),
    "a number for a text": "def pytest_recall_sections():\n    return [Section('A', lines=[1])]\n",
    "a text for lines": "def pytest_recall_sections():\n    return [Section('A', lines='abc')]\n",
    "facts without a key": "def pytest_recall_sections():\n    return [Section('A', facts=1)]\n",
    "facts that are no JSON": "def pytest_recall_sections():\n    return [Section('A', key='a', facts={1, 2})]\n",
    "no title": "def pytest_recall_sections():\n    return [Section('', lines=['a'])]\n",
    "one key twice": "def pytest_recall_sections():\n    return [Section('A', key='a'), Section('B', key='a')]\n",
    "of the end": "def pytest_recall_run_end(run, make_folder):\n    (make_folder() / 'no' / 'way').write_text('x')\n",
}


def notes_of(checkout: Checkout, result: pytest.RunResult) -> str:
    """Return what a run says of extensions, without what differs from machine to machine."""
    lines = [line for line in result.outlines if "extension" in line]
    text = "".join(f"{line}\n" for line in lines).replace(str(checkout.path), "FOLDER")
    return re.sub(r"FOLDER/eval/_artifacts/[^/]+", "RUN", text)


def test_a_fault_is_one_sentence_in_the_notes_and_decides_nothing(pytester: pytest.Pytester) -> None:
    screens = []
    sources = {what: f"def pytest_recall_measures():\n    {body}\n" for what, body in FAULTS.items()} | OTHER_FAULTS
    for what, source in sources.items():
        checkout = with_hooks(source, PASSING).at(pytester)
        checkout.forget()
        result = checkout.run("eval")
        assert result.ret == 0
        assert checkout.outcomes() == {"a": "passed", "b": "passed"}
        assert not any("bad" in found for found in measured(checkout).values())
        screens.append(f"# {what}\n{notes_of(checkout, result)}")
    assert_screen(SCREENS / "hooks.txt", "\n".join(screens))


def test_what_nothing_implements_is_not_called(pytester: pytest.Pytester) -> None:
    checkout = SET.at(pytester)
    checkout.run("eval")
    assert checkout.journal().measures == {}
    assert "custom_measures" not in (checkout.artifacts.runs()[-1] / "trials.jsonl").read_text(encoding="utf-8")


SECRET = "supersecretvalue12345"


@pytest.mark.parametrize(
    "body",
    [
        "def pytest_recall_measures():\n    return [Measure('m', SECRET, lambda case, trial: 1)]",
        "def pytest_recall_measures():\n    return [Measure(SECRET, 'a', lambda case, trial: 1)]",
        "def pytest_recall_sections(trials):\n    return [Section(SECRET, [], [SECRET], key='k', facts={'k': SECRET})]",
        "def pytest_recall_trial(case, trial):\n    raise OSError(SECRET)",
        "def pytest_recall_run_end(run):\n    raise OSError(SECRET)",
        "def pytest_recall_check_case(case):\n    return SECRET",
        "def pytest_recall_host(environ, repo):\n    raise OSError(SECRET)",
    ],
)
def test_the_value_of_a_key_is_written_nowhere(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, body: str
) -> None:
    monkeypatch.setenv("DEMO_API_KEY", SECRET)
    head = "import os\n\nfrom pytest_recall.ext import Measure, Section\n\nSECRET = os.environ['DEMO_API_KEY']\n"
    source = f"{head}\n\n{body}\n"
    checkout = ECHOING.with_cases(case("a")).with_files({"conftest.py": source}).at(pytester)
    result = checkout.run("eval")
    assert SECRET not in "\n".join([*result.outlines, *result.errlines])
    written = [path for path in checkout.path.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]
    assert written == []


@pytest.mark.parametrize(
    "measure",
    [
        "Measure('m', 'a', lambda case, trial: 1.7e308)",
        "Measure('m', None, lambda case, trial: 1)",
        "Measure('m\\n', 'a', lambda case, trial: 1)",
        "Measure('x' * 300, 'a', lambda case, trial: 1)",
    ],
)
def test_a_measure_with_a_fault_fails_no_run(pytester: pytest.Pytester, measure: str) -> None:
    source = f"from pytest_recall.ext import Measure\n\n\ndef pytest_recall_measures():\n    return [{measure}]\n"
    checkout = ECHOING.with_cases(case("a")).with_files({"conftest.py": source}).at(pytester)
    assert checkout.run("eval").ret == 0
    assert checkout.scorecard()["measures"] is None


def test_numbers_of_other_types_are_numbers(pytester: pytest.Pytester) -> None:
    source = (
        "from fractions import Fraction\n\nfrom pytest_recall.ext import Measure\n\n\n"
        "def pytest_recall_measures():\n    return [Measure('half', 'a', lambda case, trial: Fraction(1, 2))]\n"
    )
    checkout = ECHOING.with_cases(case("a")).with_files({"conftest.py": source}).at(pytester)
    assert checkout.run("eval").ret == 0
    assert checkout.scorecard()["measures"]["half"]["mean"] == 0.5


@pytest.mark.parametrize(
    "body",
    [
        "def pytest_recall_sections(trials):\n    raise KeyboardInterrupt",
        "def pytest_recall_run_end(run):\n    raise KeyboardInterrupt",
    ],
)
def test_an_interrupt_in_a_hook_of_the_end_leaves_the_run_written(pytester: pytest.Pytester, body: str) -> None:
    checkout = ECHOING.with_cases(case("a")).with_files({"conftest.py": body + "\n"}).at(pytester)
    result = checkout.run_apart("eval")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert checkout.journal().exit_code is not None
    assert checkout.boxes() == {"a": 1}
    assert checkout.scorecard()["counts"] == {"passed": 1}


@pytest.mark.parametrize(
    "body",
    [
        "def pytest_recall_trial(case, trial):\n    yield 1",
        "async def pytest_recall_run_end(run):\n    pass",
    ],
)
def test_what_is_only_made_and_not_run_is_a_fault(pytester: pytest.Pytester, body: str) -> None:
    checkout = ECHOING.with_cases(case("a")).with_files({"conftest.py": body + "\n"}).at(pytester)
    result = checkout.run("eval", "-W", "ignore")
    assert any("has a fault" in line and "has to return nothing" in line for line in result.outlines), result.outlines


def test_what_a_hook_changes_in_a_trial_is_a_fault_of_it(pytester: pytest.Pytester) -> None:
    source = (
        "from pytest_recall.ext import Measure\n\n\n"
        "def pytest_recall_measures():\n    return [Measure('one', 'a', lambda case, trial: 1)]\n\n\n"
        "def pytest_recall_trial(case, trial):\n    trial.custom_measures['y'] = 'nonsense'\n"
    )
    checkout = ECHOING.with_cases(case("a")).with_files({"conftest.py": source}).at(pytester)
    assert checkout.run("eval").ret == 0
    assert list(checkout.scorecard()["measures"]) == ["one"]
