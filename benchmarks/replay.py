"""Replay: recorded calls and cases beside a mock transport and other recorders, and large answers recorded."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import median

import judged
from measure import Sample, alternate, best, environment_with, noise, probe, run, tell
from report import Line
from suites import INSIDE, TODAY, expect, forget, pytest_command, sdk_suites

NAME = "replay"
ABOUT = "replayed calls beside a dictionary, vcrpy and cassetter; opening, clients, disk; streams while recording"

PEERS = ("vcrpy", "cassetter")
COUNTS = (10, 100, 1_000, 5_000)
SIZE = 5_000
LARGE = 100_000
RATIO, SDK_RATIO, FLAT_RATIO = 1.5, 1.1, 1.2
LARGE_MILLISECONDS = 0.5
OPEN_MILLISECONDS = 10
CLIENT_MILLISECONDS = 2
MEGABYTES = 0.4
LATE_MILLISECONDS = 10
CASES, PROCESS_RATIO = 1_000, 1.3
MEGABYTES_AT_ONCE, LARGE_SECONDS = 20, 2.0

Rounds = dict[str, dict[str, list[float]]]
"""Of each side, and of each count of calls in its cassette, the median seconds of each round."""


def lines(folder: Path, quick: bool) -> Iterator[Line]:
    """Measure calls, opening, clients, disk and streams, each in a process of its own."""
    yield from _calls(folder / "calls", quick)
    yield from _processes(folder / "processes", quick)
    yield from _large(folder / "large", quick)
    yield from _opening(folder / "open", quick)
    yield from _clients(quick)
    yield from _disk(folder / "grow")
    yield from _streams(folder / "stream", quick)


def _calls(folder: Path, quick: bool) -> Iterator[Line]:
    rounds = 10 if quick else 30
    # The others take minutes where there are thousands of calls.
    found = _replayed(folder, "httpx2", SIZE, rounds, 1, *COUNTS[:-1])
    for count in COUNTS[:-1]:
        yield from _beside_dictionaries(found, f"a call of 5 KB of {count:,}", count)
        yield from _peers(found, f"a call of 5 KB of {count:,}", count)
    found = _replayed(folder, "httpx2", SIZE, rounds, 0 if quick else 1, COUNTS[0], COUNTS[-1])
    what = f"a call of 5 KB of {COUNTS[-1]:,}"
    yield from _beside_dictionaries(found, what, COUNTS[-1])
    yield from _peers(found, what, COUNTS[-1])
    least, most = (found["recall"][str(count)] for count in (COUNTS[0], COUNTS[-1]))
    yield _line(what, "µs", most, least, f"of {COUNTS[0]}", FLAT_RATIO)

    found = _replayed(folder, "openai", SIZE, rounds, 1, 1_000)
    yield _beside(found, "dictionary", "a call of 5 KB through the openai SDK", 1_000, SDK_RATIO)
    yield from _peers(found, "a call of 5 KB through the openai SDK", 1_000)

    found = _replayed(folder, "httpx2", LARGE, rounds, 1, 100)
    yield Line(
        theme=NAME,
        what="a call of 100 KB of 100",
        unit="ms",
        value=best(found["recall"]["100"]) * 1_000,
        reference=best(found["dictionary"]["100"]) * 1_000,
        against="dictionary",
        limit=LARGE_MILLISECONDS,
        noise=noise(found["recall"]["100"], found["dictionary"]["100"]),
    )
    yield from _peers(found, "a call of 100 KB of 100", 100)


def _processes(folder: Path, quick: bool) -> Iterator[Line]:
    """Measure whole processes, from the start of Python to its end, by the median of what one takes beside the other.

    They are taken in pairs, as the two sides of one are measured while the machine is equally busy.
    """
    rounds = 5 if quick else 15
    tell(f"replay: {CASES:,} cases through the openai SDK, recording them ", end="")
    recall, plain = sdk_suites(folder, CASES)
    every = ("eval", f"--recall-date={TODAY}", "--recall-mode", "all")
    with judged.served() as address, environment_with(RECALL_BENCHMARK_MODEL=address):
        recorded = run(pytest_command(*every, "--record", plugins=("recall",)), recall)
        expect(recorded.output, f"{CASES} passed")

        def replayed() -> Sample:
            forget(recall)
            sample = run(pytest_command(*every, "--replay", plugins=("recall",)), recall)
            expect(sample.output, f"{CASES} passed")
            return sample

        def mocked() -> Sample:
            with environment_with(RECALL_BENCHMARK_CASES=str(CASES)):
                sample = run(pytest_command("test_sdk.py"), plain)
            expect(sample.output, f"{CASES} passed")
            return sample

        tell(f"{rounds} rounds after a first ", end="")
        found = alternate({"replayed": replayed, "mocked": mocked}, rounds)
    seconds = {name: [sample.cpu for sample in samples] for name, samples in found.items()}
    ratio = median(one / other for one, other in zip(seconds["replayed"], seconds["mocked"], strict=True))
    reference = median(seconds["mocked"])
    yield Line(
        theme=NAME,
        what=f"{CASES:,} recorded cases through the openai SDK, the whole process, processor time",
        unit="s",
        value=ratio * reference,
        reference=reference,
        against="pytest with the SDK over a mock transport",
        limit=PROCESS_RATIO,
        limit_on="ratio",
        noise=noise(seconds["replayed"], seconds["mocked"]),
    )


def _large(folder: Path, quick: bool) -> Iterator[Line]:
    folder.mkdir()
    rounds = 2 if quick else 5
    tell(f"replay: recording answers of {MEGABYTES_AT_ONCE} MB, {rounds} rounds")
    for form, seconds in probe(INSIDE / "large_probe.py", folder, MEGABYTES_AT_ONCE, rounds).items():
        yield Line(
            theme=NAME,
            what=f"search and write an answer of {MEGABYTES_AT_ONCE} MB, {form}, processor time",
            unit="s",
            value=best(seconds),
            limit=LARGE_SECONDS,
            noise=noise(seconds),
        )


def _replayed(folder: Path, client: str, size: int, rounds: int, slow_rounds: int, *counts: int) -> Rounds:
    folder.mkdir(exist_ok=True)
    counted = ", ".join(f"{count:,}" for count in counts)
    tell(f"replay: {client}, bodies of {size:,} bytes, {counted} calls, {rounds} rounds after a first")
    found = probe(INSIDE / "replay_probe.py", folder, client, size, rounds, slow_rounds, *counts)
    seconds: Rounds = found["seconds"]
    absent = [f"{peer} is not installed" for peer in PEERS if slow_rounds and peer not in seconds]
    for reason in found["refused"] or absent:
        tell(f"replay: {reason}; left out")
    return seconds


def _beside_dictionaries(found: Rounds, what: str, count: int) -> Iterator[Line]:
    """Yield a replayed call beside a dictionary at the same place in the client, and one before the client's own work.

    Calls are replayed where the connection pool would send them, so that transports and mounts of a client run.
    """
    yield _beside(found, "pool", what, count, RATIO)
    yield _beside(found, "dictionary", what, count, None)


_AGAINST = {"pool": "dictionary as the pool", "dictionary": "dictionary as the transport"}


def _beside(found: Rounds, side: str, what: str, count: int, limit: float | None) -> Line:
    return _line(what, "µs", found["recall"][str(count)], found[side][str(count)], _AGAINST[side], limit)


def _peers(found: Rounds, what: str, count: int) -> Iterator[Line]:
    """Yield the others beside us; they are too slow for more than a few calls, so there is no target on the ratio."""
    for peer in PEERS:
        if seconds := found.get(peer, {}).get(str(count)):
            yield _line(f"{what}, {peer}", "µs", seconds, found["recall"][str(count)], "pytest-recall")


def _line(
    what: str, unit: str, value: list[float], reference: list[float], against: str, limit: float | None = None
) -> Line:
    factor = {"µs": 1_000_000, "ms": 1_000}[unit]
    return Line(
        theme=NAME,
        what=what,
        unit=unit,
        value=best(value) * factor,
        reference=best(reference) * factor,
        against=against,
        limit=limit,
        limit_on="ratio",
        noise=noise(value, reference),
    )


def _opening(folder: Path, quick: bool) -> Iterator[Line]:
    folder.mkdir()
    rounds = 10 if quick else 40
    tell(f"replay: opening 1,000 calls, {rounds} rounds after a first")
    found = probe(INSIDE / "open_probe.py", folder, 1_000, SIZE, rounds)
    yield Line(
        theme=NAME,
        what="open 1,000 calls of 5 KB",
        unit="ms",
        value=best(found["recall"]) * 1_000,
        reference=best(found["bytes"]) * 1_000,
        against="reading the bytes",
        limit=OPEN_MILLISECONDS,
        noise=noise(found["recall"]),
    )
    for peer in PEERS:
        if peer in found:
            yield _line(f"open 1,000 calls of 5 KB, {peer}", "ms", found[peer], found["recall"], "pytest-recall")


def _clients(quick: bool) -> Iterator[Line]:
    rounds = 5 if quick else 15
    for vendor, name in (("openai", "OpenAI()"), ("anthropic", "Anthropic()")):
        tell(f"replay: {name}, {rounds} rounds after a first ", end="")
        sides = {mode: partial(probe, INSIDE / "client_probe.py", vendor, mode) for mode in ("replay", "plain")}
        found = alternate(sides, rounds)
        for which, limit in (("first", CLIENT_MILLISECONDS), ("later", CLIENT_MILLISECONDS), ("import", None)):
            replay, plain = ([one[which] * 1_000 for one in found[mode]] for mode in ("replay", "plain"))
            what = {"first": "the first", "later": "a later one", "import": "what httpx2 imports for the first"}[which]
            yield Line(
                theme=NAME,
                what=f"{name} in a replay, {what}",
                unit="ms",
                value=best(replay),
                reference=best(plain),
                against="without a replay",
                limit=limit,
                noise=noise(replay),
            )


def _disk(folder: Path) -> Iterator[Line]:
    folder.mkdir()
    tell("replay: a conversation that grows")
    found = probe(INSIDE / "grow_probe.py", folder)
    sizes = {name: size / 1_000_000 for name, size in found.items()}
    what = "24 calls that grow from 2 to 200 KB, on disk"
    yield Line(
        theme=NAME,
        what=what,
        unit="MB",
        value=sizes["recall"],
        reference=sizes["bodies"],
        against="their bodies",
        limit=MEGABYTES,
    )
    for peer in PEERS:
        if peer in sizes:
            yield Line(
                theme=NAME,
                what=f"{what}, {peer}",
                unit="MB",
                value=sizes[peer],
                reference=sizes["recall"],
                against="pytest-recall",
            )


def _streams(folder: Path, quick: bool) -> Iterator[Line]:
    folder.mkdir()
    rounds = 15 if quick else 40
    tell(f"replay: the first event of a stream while recording, {rounds} rounds after a first")
    found = probe(INSIDE / "stream_probe.py", folder, rounds)
    recorded, direct = ([second * 1_000 for second in found[side]] for side in ("recorded", "direct"))
    # One that comes late now and then would not show in the least.
    yield Line(
        theme=NAME,
        what="the first event of a stream, recorded, median",
        unit="ms",
        value=median(recorded),
        reference=median(direct),
        against="direct",
        limit=LATE_MILLISECONDS,
        limit_on="extra",
        noise=noise(recorded, direct),
    )
