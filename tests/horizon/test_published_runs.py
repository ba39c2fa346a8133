"""Published runs of Recall Bench, where they are: what is published is what their answers come to."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import pytest

from pytest_recall.horizon.curve_svg import sizes_svg
from pytest_recall.horizon.heatmap_svg import heatmap_svg
from pytest_recall.horizon.merging import rebuild_result
from pytest_recall.horizon.picture_data import heatmap, sizes
from pytest_recall.horizon.rescore import rescore
from pytest_recall.horizon.run_file import read_lines
from pytest_recall.horizon.runs import read_run
from pytest_recall.horizon.statistics import pairing, report

FOLDER = os.environ.get("RECALL_BENCH_180D")
pytestmark = pytest.mark.skipif(not FOLDER, reason="RECALL_BENCH_180D does not name the folder of the published runs")


class Known(NamedTuple):
    """What is known of a published run by other arithmetic."""

    name: str
    answers: int
    mean: float
    hallucination: float
    perfect: int
    failing: int
    appeals: tuple[int, int, int, int, int]
    repeated: tuple[int, int, int]


RUNS = (
    Known("ea-180d-mempalace-baseline", 1639, 4.962, 13.0, 1159, 295, (310, 74, 68, 19, 54), (252, 17, 5)),
    Known("ea-180d-openclaw", 1212, 5.450, 8.5, 1010, 112, (113, 26, 29, 1, 14), (136, 6, 1)),
    Known("ea-180d-recall-baseline", 1639, 4.509, 15.6, 977, 423, (462, 154, 65, 39, 121), (259, 27, 7)),
)


def folder(name: str) -> Path:
    """Return the folder of a published run."""
    return Path(FOLDER or "") / "results" / name


@pytest.mark.parametrize("known", RUNS, ids=lambda known: known.name)
def test_every_number_is_what_the_answers_come_to(known: Known) -> None:
    run, lines = read_run(folder(known.name)), read_lines(folder(known.name))
    found = rescore(run, [*lines.checkpoints, lines.summary])
    assert (found.differences, found.hollow) == ((), ())
    assert found.compared > 3000


@pytest.mark.parametrize("known", RUNS, ids=lambda known: known.name)
def test_the_report_says_what_is_known(known: Known) -> None:
    found = report(read_run(folder(known.name)))
    every = found.everything
    assert every.points.n == known.answers
    assert every.points.value == pytest.approx(known.mean, abs=5e-4)
    assert 100 * (every.hallucination.value or 0) == pytest.approx(known.hallucination, abs=0.05)
    assert round(known.answers * (every.perfect.value or 0)) == known.perfect
    assert round(known.answers * (every.failing.value or 0)) == known.failing
    told = found.appeals
    assert (told.asked, told.raised, told.lowered, told.overturned, told.flipped) == known.appeals
    assert tuple(found.repeatability) == known.repeated


def test_two_runs_of_one_design_were_asked_the_same() -> None:
    first, second = (read_run(folder(known.name)) for known in (RUNS[0], RUNS[2]))
    both = pairing(first, second)
    assert (both.pairs, both.questions, both.changed, both.apart) == (1639, 312, 0, 0)


@pytest.mark.parametrize("known", RUNS, ids=lambda known: known.name)
def test_a_rebuilt_result_is_the_published_one(known: Known, tmp_path: Path) -> None:
    """The lines of questions were not published: they are made of the result, with times before each checkpoint."""
    written = json.loads((folder(known.name) / "result.json").read_text(encoding="utf-8"))
    progress = (folder(known.name) / "progress.jsonl").read_text(encoding="utf-8")
    ends = [json.loads(line)["timestamp"] for line in progress.splitlines()[1:-1]]
    rows: list[dict[str, Any]] = []
    for end, stop in zip(ends, written["personas"][0]["rangeResults"], strict=True):
        for one in stop["questionResults"]:
            asked = {"referenceAnswer" if key == "answer" else key: value for key, value in one["qa"].items()}
            plain = {**one, "timestamp": end, "personaId": "executive-assistant", "qa": asked}
            plain["composite"] = plain.pop("compositeScore")
            rows.append({**plain, "usedAppellate": "primaryScore" in one})
    (tmp_path / "progress.jsonl").write_text(progress, encoding="utf-8")
    (tmp_path / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    found, plain = rebuild_result(tmp_path)
    assert found.orphans == 0
    for stop in plain["personas"][0]["rangeResults"]:
        assert stop.pop("thirdOutcomes") == {}
    assert plain["personas"] == written["personas"]
    assert plain["heatmap"] == written["heatmap"]
    metadata = {name: value for name, value in plain["metadata"].items() if not name.startswith("reconstructed")}
    assert metadata == written["metadata"]
    assert plain["timestamp"] == written["timestamp"]


@pytest.mark.parametrize("known", RUNS, ids=lambda known: known.name)
def test_pictures_of_published_runs_are_drawn(known: Known) -> None:
    run = read_run(folder(known.name))
    for colors in ("safe", "published"):
        ElementTree.fromstring(heatmap_svg(heatmap(run), colors))
    ElementTree.fromstring(sizes_svg(sizes(run)))
