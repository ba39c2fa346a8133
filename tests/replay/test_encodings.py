"""What content encodings are undone, how far, and what is told of those that are not."""

from __future__ import annotations

import gzip
import sys
import zlib
from collections.abc import Callable
from itertools import pairwise

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.replay.encodings import MAX_PLAIN_BYTES, decoded, package_to_install, unescaped, unpacks_too_far
from pytest_recall.replay.exchange import Headers


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


PACKERS: list[tuple[str, Callable[[bytes], bytes]]] = [
    ("gzip", gzip.compress),
    ("GZIP", gzip.compress),
    ("x-gzip", gzip.compress),
    ("deflate", zlib.compress),
    ("deflate", raw_deflate),
    ("br", brotli.compress),
    ("zstd", zstandard.compress),
]


def headers(encoding: str) -> Headers:
    return (("Content-Encoding", encoding),)


@given(st.binary(), st.lists(st.integers(0, 40)), st.sampled_from(PACKERS))
def test_each_chunk_is_decoded(body: bytes, cuts: list[int], packer: tuple[str, Callable[[bytes], bytes]]) -> None:
    encoding, packed = packer[0], packer[1](body)
    edges = [0, *sorted(min(cut, len(packed)) for cut in cuts), len(packed)]
    chunks = tuple(packed[start:end] for start, end in pairwise(edges))
    found = decoded(headers(encoding), chunks)
    assert found is not None
    assert (len(found), b"".join(found)) == (len(chunks), body)


def test_several_encodings_and_none() -> None:
    packed = gzip.compress(b"abc")
    assert decoded(headers("gzip"), (packed[:9], packed[9:])) == (b"", b"abc")
    assert decoded((), (b"a", b"b")) == (b"a", b"b")
    assert decoded(headers("identity"), (b"a",)) == (b"a",)
    assert decoded(headers("gzip, br"), (brotli.compress(packed),)) == (b"abc",)
    assert decoded(headers("gzip"), (gzip.compress(b"a") + gzip.compress(b"b"),)) == (b"ab",)
    assert decoded(headers("br"), ()) == ()


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd", "snappy", "gzip, br"])
def test_what_is_not_in_the_encoding(encoding: str) -> None:
    assert decoded(headers(encoding), (b"not packed",)) is None
    assert not unpacks_too_far(headers(encoding), (b"not packed",))


def test_what_follows_a_packed_body_hides_nothing() -> None:
    assert decoded(headers("gzip"), (gzip.compress(b"a") + b"sk-secret",)) is None


@pytest.mark.parametrize(("encoding", "pack"), PACKERS[2:])
def test_the_limit(encoding: str, pack: Callable[[bytes], bytes]) -> None:
    body = pack(bytes(3_000_000))
    assert decoded(headers(encoding), (body,), 3_000_000) == (bytes(3_000_000),)
    assert decoded(headers(encoding), (body,), 2_999_999) is None


def test_another_package_decodes_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("compression.zstd", "backports.zstd"):
        monkeypatch.setitem(sys.modules, module, None)
    packed = zstandard.compress(b"ab")
    assert decoded(headers("zstd"), (packed[:5], packed[5:] + packed)) == (b"", b"abab")
    assert decoded(headers("zstd"), (b"not packed",)) is None


def test_a_bomb_is_not_unpacked() -> None:
    body = zstandard.compress(bytes(MAX_PLAIN_BYTES + 1))
    assert unpacks_too_far(headers("zstd"), (body,))
    assert decoded(headers("zstd"), (body,)) is None


def test_a_decoder_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert package_to_install(headers("br, zstd, gzip, snappy")) is None
    for module in ("brotli", "brotlicffi", "compression.zstd", "backports.zstd", "zstandard"):
        monkeypatch.setitem(sys.modules, module, None)
    assert package_to_install(headers("br")) == "brotli"
    assert package_to_install(headers("gzip, zstd")) == "zstandard"
    assert package_to_install(headers("gzip")) is None
    assert decoded(headers("br"), (brotli.compress(b"a"),)) is None


def test_escapes_of_json_and_of_urls_are_taken_off_within_each_other() -> None:
    assert unescaped(r"a\n\"b\" caf\u00e9 %2Fc %252F \\\"d") == 'a\n"b" café /c / "d'
