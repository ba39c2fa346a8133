"""What pytest refuses before it asks anything: wrong options, and files with mistakes, each in one sentence.

The sentences are in `screens/`, below the command or the file that they are about.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.helpers.project import BARE, ECHOING, SETTINGS, Checkout, case, cases_yaml, row, state_yaml
from tests.helpers.screens import assert_screen

SCREENS = Path(__file__).parent / "screens"
SET = ECHOING.with_cases(case("a", scenario="fees"), case("b", scenario="loans", dimension="tone"))
PLACES = {
    "tests/test_plain.py": "def test_it():\n    pass\n",
    "more/other.cases.yaml": cases_yaml(case("c")),
    "services/one/eval/cases.yaml": cases_yaml(case("d")),
    "of.json": '["aa"]',
}
OPTIONS = """
pytest --replay eval
pytest --replay tests
pytest --record eval/cases.yaml
pytest --record eval/cases.yaml::a
pytest --record more
pytest --record services
pytest eval --record=Missing
pytest eval --record=mising
pytest eval --record=MISSING:there
pytest eval --record=pytest.ini/there
pytest eval --replay=eval/casettes
pytest eval --replay --recall-replay-max-age=-3
pytest eval --replay --recall-live judges
pytest eval --replay --recall-live=
pytest eval --record=missing --recall-dry-run --recall-dry-run-of=of.json
pytest eval --recall-live=judge
pytest eval --recall-mod all
pytest eval --recall-mod=all
pytest eval --recall-dry-run-casettes=x
pytest eval --replya
pytest eval --recall-record
pytest eval --recall-model=x
pytest eval --batch
pytest eval -p no:xdist -n 2
pytest eval --scenarios=fees,lones
pytest eval --dimensions=zzz
pytest eval --scenarios=fee --dimensions=ton --recall-mode=all
pytest eval --scenarios=,
pytest eval --recall-mode=nightli
pytest eval --recall-date=10.3.2026
pytest eval --budget=much
pytest eval --judge opnai:x
pytest eval --appellate-judge opnai:x
pytest eval --memory=sqlite
pytest eval --memory=full --recall-memory-reset
pytest eval --baselines=opnai:m
pytest eval --baselines=tail-windw
pytest eval --baselines=,
pytest tests --baselines=raw
pytest tests --scenarios=fees
pytest eval --recall-resume
pytest eval --recall-shard=5/4
pytest eval --recall-shard=auto
pytest eval --recall-dir=evla
pytest eval -o recall_dir=evla
pytest eval -o recall_files=my/*.txt
pytest eval --recall-concurrency=0
pytest eval -o recall_concurrency=all
pytest eval -o recall_progress=soon
pytest eval -o recall_progress=nan
pytest eval -o recall_progress=-1
"""
LONG = """
pytest eval --record
pytest eval --model=x
pytest eval --recall-live=judge
"""
OFF = """
pytest --replay
pytest tests --recall-mode all
pytest --scenarios=fees
pytest eval
pytest eval/cases.yaml
pytest eval/cases.yaml::a -n2
"""
FILES: Mapping[str, Mapping[str, str]] = {
    "a state with a conflict": {"eval/recall.yaml": state_yaml(a=row(2)).replace("  a:\n", "<<<<<<< ours\n  a:\n")},
    "wrong fields": {"eval/cases.yaml": cases_yaml(case("a", scenari="x"), case("b", judges=[]))},
    "wrong numbers of trials": {
        "eval/cases.yaml": cases_yaml(case("a", trials=0), case("b", trials=True), case("c", trials="5of4"))
    },
    "one id in two files": {"eval/b.cases.yaml": cases_yaml(case("b"))},
    "one id of a row and a marked test": {
        "eval/test_a.py": 'import pytest\n\n\n@pytest.mark.recall("a")\ndef test_a():\n    pass\n'
    },
    "a wrong setting": {"eval/rubric.yaml": "owner: us\nblocks: nevr\n"},
    "two gates for one part": {
        "eval/rubric.yaml": "gates:\n  - {scenario: fees, at_least: 0.9}\n  - {scenario: fees, at_least: 0.5}\n"
    },
    "names that no run reads": {"eval/case.yml": "", "eval/rubrics.yaml": "mode: all\n"},
}
TYPED = """
recall_concurrency = true
recall_concurrency = 0
recall_concurrency = [4]
recall_progress = nan
recall_progress = false
recall_dir = 3
recall_short_options = 3
recall_files = "a"
"""


def refused(checkout: Checkout, *options: str, day: str | None = None) -> str:
    """Return the errors of a run that is refused, which has asked nothing, written nothing and said nothing else."""
    before = checkout.state_text()
    result = checkout.run(*options) if day is None else checkout.run(*options, day=day or None)
    assert result.ret == pytest.ExitCode.USAGE_ERROR, options
    output = [*result.outlines, *result.errlines]
    assert not [line for line in output if "INTERNALERROR" in line or "Traceback" in line]
    assert (checkout.asked(), checkout.state_text(), checkout.artifacts.runs()) == ([], before, [])
    errors = [line for line in output if line.startswith("ERROR: ")]
    assert errors, output
    return "".join(f"{line}\n" for line in errors).replace(str(checkout.path), "FOLDER")


def screen(checkout: Checkout, commands: str, day: str | None = None) -> str:
    """Return each command above what it is refused with."""
    lines = commands.strip().splitlines()
    return "\n".join(f"$ {line}\n{refused(checkout, *shlex.split(line)[1:], day=day)}" for line in lines)


def test_options(pytester: pytest.Pytester) -> None:
    checkout = SET.with_files(PLACES).at(pytester)
    assert_screen(SCREENS / "options.txt", screen(checkout, OPTIONS))


def test_options_by_their_long_names(pytester: pytest.Pytester) -> None:
    checkout = SET.with_files({"pytest.ini": f"{SETTINGS}recall_short_options = false\n"}).at(pytester)
    assert_screen(SCREENS / "options-long.txt", screen(checkout, LONG))


def test_what_asks_for_the_plugin_where_it_is_off(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_PLUGINS", "few_plugins")
    checkout = SET.with_files(PLACES).at(pytester)
    assert_screen(SCREENS / "off.txt", screen(checkout, OFF, day=""))


def test_files(pytester: pytest.Pytester) -> None:
    parts = []
    for name, files in FILES.items():
        checkout = SET.with_files(files).at(pytester)
        parts.append(f"# {name}\n{refused(checkout, 'eval')}")
        for path in files:
            (checkout.path / path).unlink()
    assert_screen(SCREENS / "files.txt", "\n".join(parts))


@pytest.mark.skipif(pytest.version_tuple < (9,), reason="pytest reads pytest.toml from 9.0 on")
def test_settings_of_another_type(pytester: pytest.Pytester) -> None:
    parts = []
    for line in TYPED.strip().splitlines():
        checkout = SET.without("pytest.ini").with_files({"pytest.toml": f"[pytest]\n{line}\n"}).at(pytester)
        parts.append(f"# {line}\n{refused(checkout, 'eval')}")
    assert_screen(SCREENS / "settings.txt", "\n".join(parts))


@pytest.mark.parametrize("workers", [(), ("-n1",)])
def test_names_are_looked_for_in_marked_tests_as_well(pytester: pytest.Pytester, workers: tuple[str, ...]) -> None:
    marked = 'import pytest\n\n\n@pytest.mark.recall("m", dimension="safety")\ndef test_m():\n    pass\n'
    checkout = SET.with_files({"eval/test_m.py": marked}).at(pytester)
    result = checkout.run("eval", "--dimensions=safty", *workers)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    [error] = [line for line in [*result.outlines, *result.errlines] if line.startswith("ERROR: --dimensions")]
    assert "`safety`" in error
    assert (checkout.asked(), checkout.state_text()) == ([], None)


@pytest.mark.parametrize("workers", ["-n1", "-n2"])
def test_workers_are_not_asked_either(pytester: pytest.Pytester, workers: str) -> None:
    checkout = SET.with_files({"eval/recall.yaml": "<<<<<<< ours\n"}).at(pytester)
    assert refused(checkout, "eval", workers) == refused(checkout, "eval")
    assert refused(checkout, "eval/cases.yaml::a") == refused(checkout, "eval")


def test_repetitions_of_pytest_repeat(pytester: pytest.Pytester) -> None:
    repeat = """
def pytest_addoption(parser):
    parser.addoption("--count", type=int, default=1)


def pytest_configure(config):
    config.pluginmanager.register(object(), NAME)
"""
    for name in ("repeat", "pytest_repeat"):
        checkout = SET.with_files({"conftest.py": repeat.replace("NAME", repr(name))}).at(pytester)
        assert "--count" in refused(checkout, "eval", "--count=2")
    checkout.run("eval", "--count=1").assert_outcomes(passed=2)


def test_a_project_without_cases(pytester: pytest.Pytester) -> None:
    checkout = BARE.with_files({"test_plain.py": "def test_plain():\n    pass\n"}).at(pytester)
    assert "--baselines" in refused(checkout, "--baselines=raw")
