"""Collect: many trivial cases from file to scorecard, beside the barest YAML collector."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from measure import Sample, alternate, best, noise, run, tell
from report import Line
from suites import TODAY, bare_suite, expect, forget, pytest_command, recall_suite

from pytest_recall.files import clock
from pytest_recall.files.eval_directory import CASSETTE_SUFFIX, JOURNAL, Artifacts, Place

NAME = "collect"
ABOUT = "1,000 and 10,000 trivial cases from file to scorecard, beside the barest collector; 100 beside files of runs"

RATIO = 1.5
MEGABYTES = 75
MILLISECONDS_A_CASE = 0.8
RUNS = 200
RECORDED = 3_000
FILES_RATIO = 1.3


def lines(folder: Path, quick: bool) -> Iterator[Line]:
    """Measure the wall time at both sizes and the memory at the smaller one."""
    found = _measured(folder, 1_000, 5 if quick else 15)
    walls = {name: [sample.wall for sample in samples] for name, samples in found.items()}
    times = {name: [sample.cpu for sample in samples] for name, samples in found.items()}
    peaks = {name: max(sample.peak for sample in samples) for name, samples in found.items()}
    for what, limit, seconds in (("1,000 cases", RATIO, walls), ("1,000 cases, processor time", None, times)):
        yield Line(
            theme=NAME,
            what=what,
            unit="s",
            value=best(seconds["recall"]),
            reference=best(seconds["bare"]),
            against="barest collector",
            limit=limit,
            limit_on="ratio",
            noise=noise(seconds["recall"], seconds["bare"]),
        )
    yield Line(
        theme=NAME,
        what="1,000 cases, peak memory",
        unit="MB",
        value=peaks["recall"],
        reference=peaks["bare"],
        against="barest collector",
        limit=MEGABYTES,
    )
    if "workers" in found:
        yield Line(
            theme=NAME,
            what="1,000 cases, `-n 2`",
            unit="s",
            value=best(walls["workers"]),
            reference=best(walls["recall"]),
            against="one process",
            noise=noise(walls["workers"], walls["recall"]),
        )
    found = _measured(folder, 10_000, 1 if quick else 3, workers=False)
    each = {name: [sample.wall * 1_000 / 10_000 for sample in samples] for name, samples in found.items()}
    yield Line(
        theme=NAME,
        what="10,000 cases, per case",
        unit="ms",
        value=best(each["recall"]),
        reference=best(each["bare"]),
        against="barest collector",
        limit=MILLISECONDS_A_CASE,
        noise=noise(each["recall"], each["bare"]),
    )
    yield _beside_files(folder, 5 if quick else 15)


def _beside_files(folder: Path, rounds: int) -> Line:
    """Measure what files cost that earlier runs have left beside the cases: artifacts and cassettes."""
    tell(f"collect: 100 cases beside {RUNS} runs and {RECORDED:,} cassettes, {rounds} rounds after a first ", end="")
    suites = {name: recall_suite(folder / name, 100) for name in ("full", "empty")}
    place = Place(suites["full"], suites["full"] / "eval")
    artifacts = Artifacts(place.eval_dir)
    for _ in range(RUNS):
        (artifacts.new_run(clock.now()) / JOURNAL).write_text("{}\n", encoding="utf-8")
    place.cassettes.mkdir()
    for number in range(RECORDED):
        (place.cassettes / f"case-{number:06}{CASSETTE_SUFFIX}").write_text("{}\n", encoding="utf-8")

    def collected(suite: Path) -> Sample:
        command = pytest_command(
            "eval", "--recall-mode", "all", "--recall-date", TODAY, "--collect-only", plugins=("recall",)
        )
        sample = run(command, suite)
        expect(sample.output, "100 tests collected")
        return sample

    found = alternate({name: partial(collected, suite) for name, suite in suites.items()}, rounds)
    walls = {name: [sample.wall for sample in samples] for name, samples in found.items()}
    return Line(
        theme=NAME,
        what=f"100 cases beside {RUNS} runs and {RECORDED:,} cassettes, collected",
        unit="s",
        value=best(walls["full"]),
        reference=best(walls["empty"]),
        against="without these files",
        limit=FILES_RATIO,
        limit_on="ratio",
        noise=noise(*walls.values()),
    )


def _measured(folder: Path, count: int, rounds: int, *, workers: bool = True) -> dict[str, list[Sample]]:
    tell(f"collect: {count:,} cases, {rounds} rounds after a first ", end="")
    ours = recall_suite(folder / f"recall-{count}", count)
    theirs = bare_suite(folder / f"bare-{count}", count)
    asked = ("eval", "--recall-mode", "all", "--recall-date", TODAY)

    def recall(*more: str, plugins: tuple[str, ...] = ("recall",)) -> Sample:
        forget(ours)
        sample = run(pytest_command(*asked, *more, plugins=plugins), ours)
        expect(sample.output, f"{count} passed", f"{count:,} rows changed")
        expect((ours / "eval" / "recall.yaml").read_text(encoding="utf-8"), f"case-{count - 1:06}")
        page = (ours / "eval" / "_artifacts" / "scorecard.md").read_text(encoding="utf-8")
        expect(page, f"No regression: {count:,} cases pass")
        return sample

    def bare() -> Sample:
        sample = run(pytest_command("eval"), theirs)
        expect(sample.output, f"{count} passed")
        return sample

    sides = {"recall": recall, "bare": bare}
    if workers and _has_xdist():
        sides["workers"] = lambda: recall("-n", "2", plugins=("recall", "xdist", "xdist.looponfail"))
    return alternate(sides, rounds)


def _has_xdist() -> bool:
    from importlib.util import find_spec

    return find_spec("xdist") is not None
