"""Cassettes that a pull request has changed: a replay refuses them in a sentence, and keeps its memory."""

from __future__ import annotations

import zlib

import pytest

from pytest_recall.replay.cassette_file import Cassette, write_cassette
from pytest_recall.replay.matching import Rules
from tests.helpers.talking import agent, asking, cassette, talking
from tests.helpers.upstream import Upstream

pytest.importorskip("httpx2")
resource = pytest.importorskip("resource")

# Half of what the bomb would take, for a process that has loaded its clients.
BOUNDED = "import resource\nresource.setrlimit(resource.RLIMIT_AS, (700 << 20,) * 2)\n"


def test_an_answer_that_unpacks_to_gigabytes_is_not_served(pytester: pytest.Pytester, upstream: Upstream) -> None:
    source = agent("return httpx2_sync('one')")
    checkout = talking(upstream, source).with_cases(asking("a")).at(pytester)
    checkout.run("eval", "--record").assert_outcomes(passed=1)
    path = cassette(checkout, "a")
    whole = Cassette(path, "a", Rules())
    (call,) = whole.exchanges()
    assert call.response is not None
    # What is flushed like this stands alone, and so may be repeated.
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    body = (packer.compress(bytes(1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)) * 1400 + packer.flush()
    bomb = call.response._replace(headers=(*call.response.headers, ("content-encoding", "deflate")), chunks=(body,))
    header = {name: value for name, value in whole.header.items() if name not in ("crc", "cassette", "rules")}
    write_cassette(path, header, [call._replace(response=bomb)], Rules())
    talking(upstream, BOUNDED + source).at(pytester)
    result = checkout.run_apart("eval", "--replay", "--recall-mode=all")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*/a.ndjson:*: its compressed answer is larger than 64 MB when it is unpacked, *"])
    result.stdout.no_fnmatch_line("*MemoryError*")


def test_swapped_answers_are_not_served(pytester: pytest.Pytester, upstream: Upstream) -> None:
    body = "return httpx2_sync('one') + httpx2_sync('two')"
    checkout = talking(upstream, agent(body)).with_cases(asking("a")).at(pytester)
    checkout.run("eval", "--record").assert_outcomes(passed=1)
    path = cassette(checkout, "a")
    lines = path.read_bytes().split(b"\n")
    one, two = (place for place, line in enumerate(lines) if b'"call":' in line)
    lines[one], lines[two] = lines[two], lines[one]
    path.write_bytes(b"\n".join(lines))
    result = checkout.run("eval", "--replay", "--recall-mode=all")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*/a.ndjson:*: has lines that were copied, swapped or taken from another cassette; *"])
