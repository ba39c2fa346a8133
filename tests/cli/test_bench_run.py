"""`recall bench run`: what it says before, while and after it asks."""

from __future__ import annotations

import json
import re
import shutil
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pytest_recall.cli import main
from pytest_recall.files import pace
from pytest_recall.horizon.aggregates import metadata
from pytest_recall.horizon.runs import read_run
from pytest_recall.trials.journal import read_journal
from tests.cli.conftest import Recall
from tests.cli.samples import Made, made_by
from tests.cli.test_membench_lost import Busy
from tests.helpers.persona import profile, write_persona, write_project
from tests.helpers.screens import assert_screen, shown
from tests.memory.services import serving

SCREENS = Path(__file__).parent / "screens"
RUN = ("bench", "run", "--profile", "clerk.profile.yaml", "--no-heatmap-png")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A project with a finished run in the folder `a`."""
    folder = tmp_path_factory.mktemp("made")
    write_project(folder)
    return made_by(folder, *RUN, "--out", "a")


@pytest.fixture
def finished(made: Made, tmp_path: Path) -> None:
    """The project with the finished run, copied."""
    shutil.copytree(made.folder, tmp_path, dirs_exist_ok=True)


def test_what_it_says(made: Made) -> None:
    assert made.err == ""
    # Times are others each time, and the columns of a table are as wide as they are.
    text = re.sub(r" {2,}", "  ", re.sub(r"\d+(\.\d+)? ?(ms|s)\b", "… s", made.out))
    assert_screen(SCREENS / "bench-run.txt", text.replace(str(made.folder), "FOLDER"))


def test_it_goes_on_by_default_and_prints_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_project(tmp_path)
    assert main([*RUN, "--ranges", "3d", "--json"]) == 0
    first = capsys.readouterr()
    assert main([*RUN, "--ranges", "3d", "--json"]) == 0
    second = capsys.readouterr()
    assert json.loads(first.out) == json.loads(second.out)
    assert [one.parent.name for one in tmp_path.glob("eval/_artifacts/bench/*/result.json")]


def test_a_dry_run_says_what_it_would_take(tmp_path: Path, inside: Recall) -> None:
    write_project(tmp_path, models={"judge": "openai:gpt-4o-mini", "appellateJudge": "openai:x", "answer": "claude"})
    run = f"{' '.join(RUN)} --dry-run"
    assert_screen(SCREENS / "bench-run-dry.txt", shown(partial(inside, tmp_path), run))
    plain = json.loads(inside(tmp_path, *RUN, "--dry-run", "--json").out)
    assert [one["questions"] for one in plain["checkpoints"]] == [4, 8, 12, 16]
    assert [one["role"] for one in plain["models"]] == ["answer", "judge", "appellate"]
    assert 0 < plain["models"][1]["usd"] < 1
    assert not (tmp_path / "eval").exists()


def test_nothing_is_said_of_questions_that_there_are_none_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_project(tmp_path)
    path = next(tmp_path.rglob("questions.yaml"))
    kept = [one for one in json.loads(path.read_text()) if one["category"] != "information-boundary"]
    path.write_text(json.dumps(kept))
    assert main([*RUN, "--memory", "command:true", "--groups-enabled", "--dry-run"]) == 0
    assert "is not told in which session" not in capsys.readouterr().err


@pytest.mark.parametrize(
    "more",
    [
        ("--out", "a", "--budget", "1", "--record", "shelf", "--skip-preflight", "--memory-reset"),
        ("--json-out", "a/b.json", "--heatmap", "--replay", "shelf", "--skip-catchup-ingest"),
    ],
)
def test_a_dry_run_takes_the_options_of_the_run(
    more: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_project(tmp_path, models={"judge": "openai:gpt-4o-mini"})
    before = {*tmp_path.rglob("*")}
    assert main([*RUN, *more, "--dry-run"]) == 0
    assert "memory: 40 questions after 12 days" in capsys.readouterr().out
    assert {*tmp_path.rglob("*")} == before


def test_all_that_is_missing_is_told_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_project(tmp_path, "command:nowhere-to-be-found", models={"judge": "openai", "appellateJudge": "openai:x"})
    (tmp_path / "clerk/qa-60d/questions.yaml").unlink()
    (tmp_path / "clerk/arcs-60d.yaml").unlink()
    assert main(RUN) == 2
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 5
    for line, word in zip(
        told, ["arcs-60d.yaml", "questions.yaml", "memory command:", "judge:", "appellate"], strict=True
    ):
        assert word in line


def test_ranges_may_have_spaces_or_commas(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_project(tmp_path)
    for ranges in (["3d", "6d", "full"], ["3d,6d,full"], ["3d,6d", "full"]):
        assert main([*RUN, "--dry-run", "--json", "--ranges", *ranges]) == 0
        assert [one["days"] for one in json.loads(capsys.readouterr().out)["checkpoints"]] == [3, 6, 12]


def test_what_can_hardly_be_meant_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_project(tmp_path)
    (tmp_path / "clerk/memories-60d/day-0002.md").unlink()
    assert main([*RUN, "--dry-run", "--ranges", "3d,1y,full"]) == 0
    assert capsys.readouterr().err.splitlines() == [
        "recall: ranges: 1y, full all end on day 12, the last that there is, and ask 16 questions again; give --ranges"
        " 3d 12d, or write `ranges: [3d, 12d]` into the profile",
        f"recall: {tmp_path}/clerk/memories-60d: has no day 2, and questions are about it; `recall bench lint` names"
        " them",
    ]


def test_the_folder_of_a_persona_is_enough_whatever_its_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_project(tmp_path)
    (tmp_path / "clerk").rename(tmp_path / "mine")
    for given in (("--persona", "mine"), ("--data", "mine"), ("--data", "mine", "--personas", "clerk")):
        assert main(["bench", "run", *given, "--memory", "null", "--ranges", "3d", "--dry-run"]) == 0
        assert capsys.readouterr().out.startswith("null on clerk (arcs-60d.yaml), judged by lexical: 1 checkpoint")
    assert main([*RUN, "--persona", "mine", "--dry-run"]) == 0


@pytest.mark.usefixtures("finished")
def test_a_run_goes_on_from_its_progress_file() -> None:
    before = read_journal(Path("a")).trials
    assert main([*RUN, "--resume", "a/progress.jsonl"]) == 0
    assert read_journal(Path("a")).trials == before


def test_a_missing_file_of_variables_is_told_and_no_more(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_project(tmp_path, env={"file": ".env"})
    assert main([*RUN, "--dry-run"]) == 0
    assert "env.file: .env is not there, and no variable is taken from it" in capsys.readouterr().err


@pytest.mark.usefixtures("finished")
def test_a_result_that_is_rebuilt_is_the_one_that_was_there(tmp_path: Path) -> None:
    path = tmp_path / "a" / "result.json"
    before = json.loads(path.read_text())
    path.unlink()
    assert main(["bench", "rebuild", "a"]) == 0
    assert main(["bench", "rescore", "a"]) == 0
    after = json.loads(path.read_text())
    assert after["metadata"].pop("reconstructedComplete") is True
    assert {name: after["metadata"].pop(name) for name in ("reconstructed", "reconstructedCheckpoints")}
    del before["timestamp"], after["timestamp"]  # of the last answer, and of the beginning
    assert after == before
    kept = metadata(read_run(tmp_path / "a"))
    assert (kept["answeredBy"], kept["usd"]) == (before["metadata"]["answeredBy"], before["metadata"]["usd"])


def test_what_words_alone_do_not_measure_is_told_everywhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_project(tmp_path, models={"answer": "python:mine.py:reader"})
    assert main([*RUN, "--ranges", "3d", "4d", "5d", "6d", "--out", "a"]) == 0
    table = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "checkpoint days answers questions lexical points of 6 content % hallucination %" in "\n".join(table)
    assert any(line.startswith("3d * 3 3 3 6.00 ") and "not measured" in line for line in table)
    assert "in no points, since to refuse everything would get many: 5 answers about what may be told" in table
    assert main(["bench", "rescore", "a"]) == 0
    assert main(["bench", "report", "a"]) == 0
    told = capsys.readouterr().out
    assert "hallucination is not measured: points are lexical, for the reference's words alone" in told
    assert told.count("not measured  ") == 7, "a row for all, for each of two categories and of four checkpoints"
    assert "0.0 to 0.0 %" not in told
    assert main(["bench", "report", "a", "a"]) == 0
    assert "points, hallucination not measured in both; better 0" in capsys.readouterr().out
    assert main(["bench", "report", "a", "--json"]) == 0
    (plain,) = json.loads(capsys.readouterr().out)["runs"]
    assert (plain["hallucinationMeasured"], plain["all"]["hallucination"]["value"]) == (False, None)


@pytest.mark.usefixtures("finished")
def test_the_days_run_in_two_parts_are_one_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*RUN, "--ranges", "3d,6d", "--out", "early"]) == 0
    assert main([*RUN, "--ranges", "9d,12d", "--out", "late"]) == 0
    assert main(["bench", "merge", "early", "late", "-o", "whole"]) == 0
    whole, plain = (json.loads((tmp_path / one / "result.json").read_text()) for one in ("whole", "a"))
    assert whole["heatmap"] == plain["heatmap"]
    (tmp_path / "clerk/memories-60d/day-0012.md").write_text("# session: principal\n\nOther.\n")
    assert main([*RUN, "--ranges", "9d", "--out", "other"]) == 0
    capsys.readouterr()
    assert main(["bench", "merge", "early", "other", "-o", "none"]) == 2
    assert "early and other are not parts of one run: different days; merge" in capsys.readouterr().err


HALF = """
class Half:
    private = True

    def reset(self):
        self.kept, self.told = [], 0

    def store(self, content, metadata):
        self.told += 1
        if self.told % 2:
            self.kept.append((content, metadata["id"]))

    def recall(self, query, limit, context):
        return [{"text": text, "source": id} for text, id in self.kept if query in text][:limit]
"""


def test_a_memory_that_does_not_keep_what_it_is_told_is_told_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "half.py").write_text(HALF)
    write_project(tmp_path, "python:half.py:Half")
    assert main([*RUN, "--ranges", "6d"]) == 0
    said = "units did not come back when asked by their own words\n"
    assert "recall: python:half.py:Half has lost or changed texts: " in (err := capsys.readouterr().err)
    assert said in err


KEEPS_DATES = """
from datetime import date, timedelta
from pathlib import Path

class Memory:
    private = True
    def reset(self): pass
    def store(self, content, metadata):
        with Path("told.txt").open("a") as file:
            print(metadata["day"], metadata["date"], file=file)
    def recall(self, query, limit, context): return []
"""


@pytest.mark.usefixtures("virtual_waits")
def test_waits_for_a_busy_service_are_in_no_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_project(tmp_path)
    with serving(Busy()) as service:
        assert main([*RUN, "--memory", service.url, "--ranges", "3d", "6d", "9d", "--out", "o"]) == 0
        busy = [path for path, _ in service.asked if path.startswith("busy POST")]
    assert busy.count("busy POST /recall") >= 4
    lines = [json.loads(line) for line in Path("o/questions.jsonl").read_text().splitlines()]
    assert max(line["latencyMs"] for line in lines) < 20_000
    told = [json.loads(line) for line in Path("o/progress.jsonl").read_text().splitlines()]
    assert "busy POST /store" in busy
    assert sum(line["ingestMs"] for line in told if line["type"] == "checkpoint") < 20_000


def test_days_that_are_dated_as_the_published_ones_are_told_with_the_dates_of_their_texts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_project(tmp_path, "python:keeps.py:Memory")
    (tmp_path / "keeps.py").write_text(KEEPS_DATES)
    arcs = tmp_path / "clerk/arcs-60d.yaml"
    arcs.write_text(json.dumps({**json.loads(arcs.read_text()), "epoch": "2026-03-05"}))
    for day in range(1, 13):
        path = tmp_path / f"clerk/memories-60d/day-{day:04}.md"
        # 2026-03-08 was the Sunday on which daylight saving time began: day 5 has the date of day 4 again.
        on = date(2026, 3, 4) + timedelta(days=day - (day > 4))
        path.write_text(f"{path.read_text()}\n\nWritten on {on:%A}, {on}.\n")

    def told(*more: str) -> list[str]:
        (tmp_path / "told.txt").unlink(missing_ok=True)
        main([*RUN, "--ranges", "12d", "--out", more[-1] if more else "out", *more])
        return sorted(set((tmp_path / "told.txt").read_text().splitlines()))

    found = told()
    err = capsys.readouterr().err
    assert {"4 2026-03-08", "5 2026-03-08", "12 2026-03-15"} <= set(found)
    assert err.startswith(f"recall: {tmp_path}/clerk/memories-60d: the days are dated by `--dates legacy-dst`, as")
    assert json.loads((tmp_path / "out/progress.jsonl").read_text().splitlines()[0])["dates"] == "legacy-dst"
    found = told("--dates", "calendar")
    assert {"4 2026-03-08", "5 2026-03-09", "12 2026-03-16"} <= set(found)
    assert "are dated by" not in capsys.readouterr().err


CONFIGURED = """
class Newest:
    private = True
    def __init__(self, size):
        self.size = size
    def reset(self): self.kept = []
    def store(self, content, metadata): self.kept.append(content)
    def recall(self, query, limit, context): return self.kept[-self.size:]
"""


def test_after_a_change_of_the_code_the_run_of_before_is_set_aside_with_its_grades(tmp_path: Path) -> None:
    code = tmp_path / "newest.py"
    harness = {"adapter": "python:newest.py", "factory": "Newest", "config": {"size": 1}}
    (tmp_path / "clerk.profile.yaml").write_text(profile(harness=harness, run={"ranges": [3], "seed": 1}))
    write_persona(tmp_path)
    code.write_text(CONFIGURED)
    run = [*RUN, "--out", "runs/own"]

    assert main(run) == 0
    first = Path("runs/own/result.json").read_text()
    Path("runs/own/grades.jsonl").write_text("what I think of it")
    code.write_text(CONFIGURED.replace("self.kept[-self.size:]", "self.kept[:1]"))
    assert main(run) == 0
    assert Path("runs/own/earlier-1/result.json").read_text() == first != Path("runs/own/result.json").read_text()
    assert Path("runs/own/earlier-1/grades.jsonl").is_file()
    assert not Path("runs/own/grades.jsonl").exists()
    for name in ("earlier-1", ""):
        assert main(["bench", "rescore", f"runs/own/{name}"]) == 0


def test_a_memory_of_other_code_or_other_settings_is_asked_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pace, "EVERY", 0)
    code, runs = tmp_path / "newest.py", tmp_path / "eval/_artifacts/bench"

    def asked(**config: Any) -> str:
        harness = {"adapter": "python:newest.py", "factory": "Newest", "config": config}
        (tmp_path / "clerk.profile.yaml").write_text(profile(harness=harness, run={"ranges": [3], "seed": 1}))
        main(RUN)
        return capsys.readouterr().err

    write_persona(tmp_path)
    code.write_text(CONFIGURED)
    assert "recall: memory python:newest.py:Newest: Newest takes no setting `apiKey`" in asked(size=1, apiKey="s")
    assert "3 of 3 questions asked" in asked(size=1)
    assert "3 of 3 questions are answered" in asked(size=1)
    assert "3 of 3 questions asked" in asked(size=2)
    code.write_text(CONFIGURED.replace("self.kept[-self.size:]", "self.kept[:1]"))
    assert "3 of 3 questions asked" in asked(size=2)
    assert len(list(runs.iterdir())) == 3
    assert main([*RUN, "--resume", str(min(runs.iterdir(), key=lambda path: path.stat().st_mtime_ns))]) == 2
    assert "holds another run: the settings of the memory have changed; name another" in capsys.readouterr().err


def test_the_shipped_persona_goes_by_its_id_where_no_folder_is_called_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "apart").mkdir()
    monkeypatch.chdir(tmp_path / "apart")
    run = ("bench", "run", "--persona", "ferry-office", "--memory", "null", "--no-heatmap-png")
    assert main([*run, "--ranges", "9", "--out", "o"]) == 0
    assert capsys.readouterr().out.startswith("null on ferry-office (arcs-60d.yaml), judged by lexical")
    assert main(["judges", "audit", "o"]) == 0
    output = capsys.readouterr()
    assert json.loads(output.out)["items"] == 0
    assert output.err.startswith("recall: o: no verdict of a model")
    assert main(["judges", "audit", "o", "--only", "all"]) == 0
    head, *items = map(json.loads, capsys.readouterr().out.splitlines())
    assert head["items"] == len(items) > 0
    assert all(item["question"] and item["expected"] and item["evidence"] for item in items)
    write_persona(tmp_path).rename("ferry-office")
    assert main([*run, "--dry-run"]) == 0
    assert capsys.readouterr().out.startswith("null on clerk ")
