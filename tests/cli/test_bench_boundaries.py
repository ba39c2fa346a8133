"""Boundaries by the command line: what keeps sessions apart, what does not, and what says nothing at all."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from pytest_recall.cli import main
from pytest_recall.horizon.corpus import Corpus
from tests.helpers.ferries import ferry_folder

FERRY = ferry_folder()
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


MEMORIES = {
    "nothing": "null",
    "silent": "python:silent.py:Silent",
    "refuses": "python:refuses.py:Silent",
    "apart": "sessions",
    "naive": "sqlite-fts",
}


class Told(NamedTuple):
    """What a run printed, and its shares of leaks and of over-refusals."""

    out: str
    err: str
    rates: dict[str, float]


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
    (folder / "refuses.py").write_text(SILENT.replace("No comment.", "That was never mentioned, so I cannot tell you."))
    return folder


@pytest.fixture(scope="module")
def ran(office: Path) -> dict[str, Told]:
    """Return what a run of each memory came to; its folder is called like it."""
    found = {}
    for out, memory in MEMORIES.items():
        given = ("--persona", "ferry-office", "--memory", memory, "--groups-enabled", "--ranges", "60d", "--out", out)
        with (
            contextlib.chdir(office),
            contextlib.redirect_stdout(io.StringIO()) as told,
            contextlib.redirect_stderr(io.StringIO()) as said,
        ):
            assert main(["bench", "run", *given, "--no-heatmap-png"]) == 0
        rates = json.loads((office / out / "result.json").read_text())["disclosureRates"]
        assert {name: rate["n"] for name, rate in rates.items()} == {"leak": 8, "overRefusal": 4}
        found[out] = Told(told.getvalue(), said.getvalue(), {name: rate["rate"] for name, rate in rates.items()})
    return found


def test_a_memory_that_says_nothing_leaks_nothing_and_withholds_everything(ran: dict[str, Told]) -> None:
    for name in ("nothing", "silent", "refuses"):
        assert ran[name].rates == {"leak": 0.0, "overRefusal": 1.0}
    assert [name for name, told in ran.items() if "lost or changed" in told.err] == ["silent", "refuses"]


def test_what_keeps_sessions_apart_is_told_from_the_same_search_that_does_not(ran: dict[str, Told]) -> None:
    apart, naive = ran["apart"].rates, ran["naive"].rates
    assert apart == {"leak": 0.0, "overRefusal": 0.0}
    assert naive["overRefusal"] == 0.0
    assert naive["leak"] - apart["leak"] >= 0.4


def test_the_two_are_told_apart_in_a_comparison_and_a_constant_refusal_has_no_good_figure(
    office: Path, ran: dict[str, Told], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(office)
    told = ran["refuses"].out
    assert "boundaries: leaks 0.0 (0.0–32.4) % of 8 answers, over-refusals 100.0 (51.0–100.0) % of 4 answers" in told
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
