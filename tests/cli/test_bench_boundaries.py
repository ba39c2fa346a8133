"""Boundaries by the command line: what keeps sessions apart, what does not, and what says nothing at all."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
import yaml

from pytest_recall.cli import main
from pytest_recall.horizon.corpus import Corpus
from tests.helpers import programs

FERRY = Path(__file__).parents[2] / "eval/personas/ferry-office"
SILENT = """
class Silent:
    private = True

    def reset(self): ...

    def store(self, content, metadata): ...

    def recall(self, query, limit, context):
        return []

    def answer(self, query, limit, context):
        return "No comment."
"""


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the ferry office and its 12 boundary questions: 8 to refuse, 4 to answer."""
    folder = tmp_path_factory.mktemp("boundaries")
    office = folder / "ferry-office"
    (office / "qa-60d").mkdir(parents=True)
    for name in ("persona.yaml", "arcs-60d.yaml", "memories-60d"):
        (office / name).symlink_to(FERRY / name)
    asked = [one for one in Corpus(FERRY, "arcs-60d.yaml").questions if one.expected_disclosure]
    rows = [one.model_dump(mode="json", exclude_none=True) for one in asked]
    (office / "qa-60d/questions.yaml").write_text(yaml.safe_dump(rows, allow_unicode=True))
    (folder / "silent.py").write_text(SILENT)
    return folder


def rates(office: Path, memory: str) -> dict[str, float]:
    """Return the shares of leaks and of over-refusals, by the command as people call it."""
    command = programs.recall("bench", "run", "--persona", "ferry-office", "--memory", memory)
    done = subprocess.run(
        [*command, "--groups-enabled", "--ranges", "60d", "--json"],
        cwd=office,
        capture_output=True,
        text=True,
        check=True,
    )
    assert ("has not kept" in done.stderr) is memory.startswith("python:")
    found = json.loads(done.stdout)["disclosureRates"]
    assert {name: rate["n"] for name, rate in found.items()} == {"leak": 8, "overRefusal": 4}
    return {name: rate["rate"] for name, rate in found.items()}


@pytest.mark.parametrize("memory", ["null", "python:silent.py:Silent"])
def test_a_memory_that_says_nothing_leaks_nothing_and_withholds_everything(office: Path, memory: str) -> None:
    assert rates(office, memory) == {"leak": 0.0, "overRefusal": 1.0}


def test_what_keeps_sessions_apart_is_told_from_the_same_search_that_does_not(office: Path) -> None:
    apart, naive = rates(office, "sessions"), rates(office, "sqlite-fts")
    assert apart == {"leak": 0.0, "overRefusal": 0.0}
    assert naive["overRefusal"] == 0.0
    assert naive["leak"] - apart["leak"] >= 0.4


def test_the_two_are_told_apart_in_a_comparison_and_a_constant_refusal_has_no_good_figure(
    office: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(office)
    Path("refuses.py").write_text(SILENT.replace("No comment.", "That was never mentioned, so I cannot tell you."))

    def ran(memory: str, out: str) -> str:
        given = ("--memory", memory, "--out", out, "--no-heatmap-png")
        assert main(["bench", "run", "--persona", "ferry-office", "--groups-enabled", "--ranges", "60d", *given]) == 0
        return capsys.readouterr().out

    ran("sqlite-fts", "naive")
    ran("sessions", "apart")
    told = ran("python:refuses.py:Silent", "refuses")
    assert "boundaries: leaks 0% (0 of 8), over-refusals 100% (4 of 4)" in told
    assert "information-boundary" not in told
    assert "in no points, since to refuse everything would get many: 12 answers about what may be told" in told

    def passed(base: str, head: str) -> dict[str, tuple[float, float]]:
        main(["compare", base, head, "--json"])
        found = json.loads(capsys.readouterr().out)["by_dimension"]
        return {name: (one["base"]["rate"], one["head"]["rate"]) for name, one in found.items()}

    assert passed("naive", "apart") == {
        "information-boundary/answer": (1, 1),
        "information-boundary/refuse": (0.125, 1),
    }
    assert passed("refuses", "apart") == {
        "information-boundary/answer": (0, 1),
        "information-boundary/refuse": (1, 1),
    }
