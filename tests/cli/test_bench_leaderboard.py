"""`recall bench leaderboard`: runs that were asked the same are ranked, others stand apart."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_recall.cli import main
from pytest_recall.horizon.evaluation import HandedOut
from pytest_recall.horizon.leaderboard import as_json, boards, sections
from pytest_recall.horizon.published import PublishedRun
from tests.helpers.horizon_runs import SMALL, Asked, run_of, write_run
from tests.helpers.persona import write_project

RUN = ("bench", "run", "--profile", "clerk.profile.yaml", "--no-heatmap-png")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_project(tmp_path)


def ran(memory: str, *more: str, out: str = "") -> None:
    assert main([*RUN, "--memory", memory, "--out", f"runs/{out or memory}", *more]) == 0


def test_the_best_comes_first_and_other_questions_stand_apart(capsys: pytest.CaptureFixture[str]) -> None:
    for memory in ("null", "last-3", "sqlite-fts"):
        ran(memory)
    ran("sqlite-fts", "--ranges", "3d", out="short")
    capsys.readouterr()
    assert main(["bench", "leaderboard", "runs"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "clerk (arcs-60d.yaml): 40 answers to 16 questions; share of the relevant days found"
    rows = [line.split() for line in lines[3:6]]
    assert [row[:2] for row in rows] == [
        ["sqlite-fts", "runs/sqlite-fts"],
        ["last-3", "runs/last-3"],
        ["null", "runs/null"],
    ]
    assert rows[0][2:5] == ["100.0", "(75.8–100.0)", "30"]
    by_category = [line.split() for line in lines[7:11]]
    assert by_category[0] == ["recall", "%,", "by", "category", "(n)"]
    assert by_category[1] == ["memory", "sqlite-fts", "last-3", "null"]
    assert by_category[2][:6] == ["factual-recall", "(16)", "†", "100.0", "(61.0–100.0)", "*"]
    assert "* does not discriminate: a floor finds about as much" in lines
    why = "where these questions cannot separate the evidence from a floor of ten texts, whichever memory is asked"
    assert f"† {why}: factual-recall, temporal-reasoning" in lines
    assert "clerk (arcs-60d.yaml): 4 answers to 4 questions; share of the relevant days found" in lines
    assert any(line.startswith("Runs of other personas, feeds, questions, checkpoints or judges") for line in lines)
    assert main(["bench", "leaderboard", "runs/null", "runs/sqlite-fts", "--markdown"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].startswith("## clerk")
    assert shown[4].startswith("| sqlite-fts | runs/sqlite-fts | 100.0")
    assert not any("not ranked together" in line for line in shown)


def test_a_second_figure_leaves_out_the_same_categories_for_all(capsys: pytest.CaptureFixture[str]) -> None:
    """Of one category the newest texts have all that is asked for, and of the other the first ones."""

    def told(found: list[str]) -> PublishedRun:
        run = run_of({40: [Asked(id=f"q{n}", score=(3, 2, 1)) for n in range(20)]})
        (stop,) = run.stops
        every = []
        for n, one in enumerate(stop.evaluations):
            recent = n < 10
            asked = one.question.model_copy(
                update={
                    "category": "recency-bias-resistance" if recent else "factual-recall",
                    "relevant_days": (40 - n % 2 if recent else n - 9,),
                }
            )
            handed = HandedOut(tuple(found), 200)
            every.append(replace(one, question=asked).with_facts(answered_by="passages", handed_out=handed))
        units = [[f"day-{day:04}/principal", 100] for day in range(1, 41)]
        changed = replace(stop, evaluations=tuple(every), written={"newUnits": units}, measured=False)
        return replace(run, stops=(changed,), about={}, name=found[0] if found else "none")

    (board,) = boards([told(["day-0040", "day-0039"]), told(["day-0001", "day-0040"])])
    assert board.untelling == ("recency-bias-resistance",)
    assert [(row.headline.value, row.others and (row.others.value, row.others.n)) for row in board.rows] == [
        (0.5, (0.0, 10)),
        (0.3, (0.1, 10)),
    ]
    (section,) = sections([board])
    assert section.tables[0].head[3:9] == ("n", "random %", "last %", "oracle %", "recall % without †", "n")
    assert section.tables[1].head == ("memory", "factual-recall (10)", "recency-bias-resistance (10) †")
    assert as_json([board])["boards"][0]["without"] == ["recency-bias-resistance"]


def test_answers_are_ranked_by_the_points_of_their_judge(capsys: pytest.CaptureFixture[str]) -> None:
    days = ("--ranges", "6d")
    Path("other.py").write_text("def other(ask):\n    return 'It is 3 dollars.'\n")
    ran("sqlite-fts", "--answer", "python:mine.py:reader", *days, out="reader")
    ran("sqlite-fts", "--answer", "python:other.py:other", *days, out="other")
    ran("sqlite-fts", *days)
    capsys.readouterr()
    assert main(["bench", "leaderboard", "runs", "--json"]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert [(one["by"], one["judge"], len(one["runs"])) for one in plain["boards"]] == [
        ("points", "lexical, prompts lexical-2", 2),
        ("recall", None, 1),
    ]
    first, second = plain["boards"][0]["runs"]
    assert (first["run"], first["headline"]["value"], first["leaks"]["value"]) == ("runs/reader", 6.0, 0.0)
    assert second["headline"]["value"] < 6
    assert first["categories"]["factual-recall"] == {"value": 6.0, "low": None, "high": None, "n": 3}
    assert "factual-recall" in first["sayLittle"]
    assert (first["usd"], plain["boards"][1]["runs"][0]["usd"]) == (None, 0)


def test_it_is_a_page_where_that_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("jinja2")
    write_run(Path("runs/a"), SMALL)
    write_run(Path("runs/b"), SMALL)
    assert main(["bench", "leaderboard", "runs", "--out", "pages/board.html"]) == 0
    text = Path("pages/board.html").read_text(encoding="utf-8")
    assert capsys.readouterr().out == f"pages/board.html: 2 runs, {len(text.encode()) / 1000:,.0f} kB\n"
    assert '<th scope="row"><bdi>A memory</bdi></th><td class="n">runs/a</td>' in text
    assert main(["bench", "leaderboard", "runs", "-o", "-"]) == 0
    assert capsys.readouterr().out == text
    with pytest.raises(SystemExit):
        main(["bench", "leaderboard", "runs", "-o", "-", "--json"])
    assert "not allowed with argument" in capsys.readouterr().err


def test_a_run_without_a_whole_checkpoint_is_left_out_and_named(capsys: pytest.CaptureFixture[str]) -> None:
    ran("sqlite-fts", "--ranges", "3d,6d", out="begun")
    Path("runs/begun/result.json").unlink()
    for name, kept in (("progress.jsonl", 1), ("questions.jsonl", 2)):
        lines = Path("runs/begun", name).read_text(encoding="utf-8").splitlines(keepends=True)
        Path("runs/begun", name).write_text("".join(lines[:kept]), encoding="utf-8")
    told = "runs/begun: 2 of 12 questions answered, and the first checkpoint, 3d, is not whole yet; its figures come"
    capsys.readouterr()
    assert main(["bench", "leaderboard", "runs"]) == 2
    assert capsys.readouterr() == ("", f"recall: {told} with that\n")
    write_run(Path("runs/a"), SMALL)
    assert main(["bench", "leaderboard", "runs"]) == 2
    captured = capsys.readouterr()
    assert "runs/a" in captured.out
    assert captured.err == f"recall: left out: {told} with that\n"


def test_a_folder_without_a_run_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    Path("empty").mkdir()
    assert main(["bench", "leaderboard", "empty"]) == 2
    assert capsys.readouterr().err == (
        "recall: empty: holds no run, and neither does a folder in it; name the folder of a run\n"
    )
    assert main(["bench", "leaderboard", "nowhere"]) == 2
    assert capsys.readouterr().err.startswith("recall: nowhere: no such directory")


@pytest.mark.skipif(not os.environ.get("RECALL_BENCH_180D"), reason="RECALL_BENCH_180D names no folder")
def test_published_runs_are_ranked_where_they_were_asked_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "leaderboard", f"{os.environ['RECALL_BENCH_180D']}/results", "--json"]) == 0
    boards = json.loads(capsys.readouterr().out)["boards"]
    assert [[run["memory"] for run in one["runs"]] for one in boards] == [
        ["MemPalace", "Recall (baseline)"],
        ["openclaw[vector:text-embedding-3-small+agent]"],
    ]
