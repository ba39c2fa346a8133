"""Artifacts: run folders that no one shares, and finding them again."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.files import strict_yaml
from pytest_recall.files.eval_directory import Artifacts, relative, today_yaml
from tests.helpers.samples import unhurried
from tests.schedule.state_samples import problem

NOW = datetime(2026, 3, 10, 9, 5, 7, tzinfo=UTC)


def finished(artifacts: Artifacts, now: datetime) -> Path:
    """Make a run folder with a journal in it."""
    run = artifacts.new_run(now)
    (run / "trials.jsonl").touch()
    return run


def test_nothing_is_made_before_something_is_written(tmp_path: Path) -> None:
    artifacts = Artifacts(tmp_path)
    assert artifacts.runs() == []
    assert list(tmp_path.iterdir()) == []


def test_the_run_before_the_latest(tmp_path: Path) -> None:
    artifacts = Artifacts(tmp_path)
    finished(artifacts, NOW - timedelta(seconds=1))
    assert problem(lambda: artifacts.find("previous")).endswith(
        "no run before the latest; run `pytest -p recall` again first"
    )
    runs = [finished(artifacts, NOW + timedelta(seconds=second)) for second in range(3)]
    assert (artifacts.find("previous"), artifacts.find("latest")) == (runs[1], runs[2])


def test_run_folders_are_named_after_the_time(tmp_path: Path) -> None:
    artifacts = Artifacts(tmp_path)
    names = [artifacts.new_run(NOW).name for _ in range(3)]
    assert names == ["2026-03-10T090507", "2026-03-10T090507-2", "2026-03-10T090507-3"]
    assert artifacts.new_run(NOW + timedelta(seconds=1)).parent == tmp_path / "_artifacts"


def test_git_ignores_them(tmp_path: Path) -> None:
    artifacts = Artifacts(tmp_path)
    artifacts.new_run(NOW)
    ignore = tmp_path / "_artifacts" / ".gitignore"
    assert ignore.read_text(encoding="utf-8").splitlines()[-1] == "*"
    ignore.write_text("mine\n", encoding="utf-8")
    artifacts.write("today.yaml", "a: 1\n")
    assert ignore.read_text(encoding="utf-8") == "mine\n"


def test_runs_at_the_same_time_share_no_folder(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        runs = list(pool.map(lambda _: Artifacts(tmp_path).new_run(NOW), range(40)))
    assert len(set(runs)) == 40
    assert all(run.is_dir() for run in runs)


def test_runs_are_in_the_order_of_time(tmp_path: Path) -> None:
    artifacts = Artifacts(tmp_path)
    late = finished(artifacts, NOW + timedelta(days=1))
    same = [finished(artifacts, NOW) for _ in range(11)]
    artifacts.new_run(NOW + timedelta(days=2))  # has no journal yet
    artifacts.write("trials.jsonl", "")  # is no run
    assert artifacts.runs() == [*same, late]
    assert artifacts.find("latest") == late


def test_a_run_is_found_by_name_folder_or_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    artifacts = Artifacts(tmp_path / "eval")
    run = finished(artifacts, NOW)
    finished(artifacts, NOW + timedelta(days=1))
    monkeypatch.chdir(tmp_path)
    for name in (run.name, str(run), f"eval/_artifacts/{run.name}", f"eval/_artifacts/{run.name}/trials.jsonl"):
        assert artifacts.find(name).resolve() == run


def test_no_run_yet(tmp_path: Path) -> None:
    message = problem(lambda: Artifacts(tmp_path).find("latest"))
    assert message == f"{tmp_path / '_artifacts'}: no run yet; run `pytest -p recall` first"
    assert problem(lambda: Artifacts(tmp_path).find("2026")) == "no run '2026'; there are none"


def beside(artifacts: Artifacts, kind: str, name: str, age: int) -> Path:
    """Make a run over a dataset or a persona whose journal is so many seconds old."""
    run = artifacts.folder / kind / name
    run.mkdir(parents=True)
    (run / "trials.jsonl").touch()
    then = NOW.timestamp() - age
    os.utime(run / "trials.jsonl", (then, then))
    return run


def test_runs_of_other_kinds_are_found_by_name_and_named_where_there_is_none_of_pytest(tmp_path: Path) -> None:
    artifacts = Artifacts(tmp_path)
    older = beside(artifacts, "bench", "ana-12", 60)
    newer = beside(artifacts, "membench", "locomo-34", 5)
    assert [artifacts.find(one.name) for one in (older, newer)] == [older, newer]
    told = "name one of `recall memory run`, the newest is locomo-34"
    where = tmp_path / "_artifacts"
    assert problem(lambda: artifacts.find("latest")) == f"{where}: no run of pytest yet; {told}"
    assert problem(lambda: artifacts.find("ana-13")) == "no run 'ana-13'; did you mean `ana-12`?"
    run = finished(artifacts, NOW)
    assert artifacts.find("latest") == run
    assert problem(lambda: artifacts.find("previous")) == f"{where}: no run of pytest before the latest; {told}"
    beside(artifacts, "bench", "ana-13", 1)
    assert problem(lambda: artifacts.find("previous")).endswith("one of `recall bench run`, the newest is ana-13")


def test_unknown_run_names_the_nearest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    artifacts = Artifacts(tmp_path)
    finished(artifacts, NOW)
    message = problem(lambda: artifacts.find("2026-03-10T090508"))
    assert message == "no run '2026-03-10T090508'; did you mean `2026-03-10T090507`?"
    assert problem(lambda: artifacts.find("x")) == "no run 'x'; known: 2026-03-10T090507"


def test_unknown_run_asked_for_within_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    artifacts = Artifacts(tmp_path)
    monkeypatch.chdir(finished(artifacts, NOW))
    assert problem(lambda: artifacts.find("no-such-run")).startswith("no run 'no-such-run'")


def test_write_replaces(tmp_path: Path) -> None:
    artifacts = Artifacts(tmp_path / "eval")
    for text in ("one\n", "zwei ü\n"):
        artifacts.write("scorecard.md", text)
        assert (tmp_path / "eval" / "_artifacts" / "scorecard.md").read_bytes() == text.encode()


# today.yaml


def test_today_is_one_line_a_case() -> None:
    text = today_yaml(
        {"mode": "pr", "chosen": 2}, [{"id": "a", "reason": "new"}, {"id": "No", "reason": "due", "box": 2}]
    )
    assert text.splitlines()[1:] == [
        'mode: "pr"',
        "chosen: 2",
        "cases:",
        '  - {"id": "a", "reason": "new"}',
        '  - {"id": "No", "reason": "due", "box": 2}',
    ]
    assert text.startswith("# ")


def test_today_without_cases() -> None:
    assert yaml.safe_load(today_yaml({"mode": "nightly"}, [])) == {"mode": "nightly", "cases": []}


printable = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Zl", "Zp")), max_size=10).filter(
    lambda text: text.isprintable()
)


@unhurried
@given(
    st.dictionaries(st.sampled_from(["mode", "date", "seed", "chosen"]), printable | st.integers(0, 99)),
    st.lists(st.fixed_dictionaries({"id": printable, "reason": printable}, optional={"box": st.integers(1, 5)})),
)
def test_today_is_yaml_for_every_reader(fields: dict[str, Any], cases: list[dict[str, Any]]) -> None:
    text = today_yaml(fields, cases)
    assert yaml.safe_load(text) == {**fields, "cases": cases}
    assert strict_yaml.load(text, "today.yaml") == {**fields, "cases": cases}


@pytest.mark.parametrize("seed", ["a\x7fb", "a\x85b", "a\ufffeb"])
def test_today_with_any_seed(seed: str) -> None:
    assert yaml.safe_load(today_yaml({"seed": seed}, [])) == {"seed": seed, "cases": []}


def test_relative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert relative(tmp_path / "eval" / "cases.yaml", tmp_path) == "eval/cases.yaml"
    assert relative(tmp_path, tmp_path / "eval") == str(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert relative(Path("eval/../eval/x"), tmp_path) == "eval/x"
