"""Content encodings: the bytes of a body before a server or a client compressed them, within a limit.

gzip and deflate are always known, br and zstd where a package that decodes them is installed, as it is beside any
client that asks for them.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from importlib import import_module
from types import SimpleNamespace
from typing import Any, Final, NamedTuple

from pytest_recall.core.exchange import Headers

MAX_PLAIN_BYTES: Final = 64 * 1024 * 1024
"""A body that is larger than this when it is unpacked is not unpacked: a few megabytes may be gigabytes then."""

# The standard library's comes last: before Python 3.14 its name is free for others.
_PACKAGES: Final = {"br": ("brotli", "brotlicffi"), "zstd": ("backports.zstd", "zstandard", "compression.zstd")}
_INSTALLED_AS: Final = {"br": "brotli", "zstd": "zstandard"}

_Chunks = tuple[bytes, ...]


class _Codec(NamedTuple):
    """How one encoding is undone.

    `make` returns a decompressor like those of zlib. Each is given at most `step` bytes at once: what these become
    fits into memory, however well they are compressed, and the limit is looked at after each.
    """

    make: Callable[[], Any]
    step: int
    error: type[Exception]


class _TooLargeError(Exception):
    """What is unpacked has become larger than the limit."""


def decoded(headers: Headers, chunks: _Chunks, limit: int = MAX_PLAIN_BYTES) -> _Chunks | None:
    """Return the chunks without their content encoding, or None if that can not be undone here.

    Without an encoding they are returned as they are. Others are undone chunk by chunk, up to `limit` bytes in all;
    of a stream that was cut, what there is.
    """
    try:
        return _decoded(headers, chunks, limit)
    except _TooLargeError:
        return None


def unpacks_too_far(headers: Headers, chunks: _Chunks) -> bool:
    """Tell whether a compressed body is larger than `MAX_PLAIN_BYTES` when it is unpacked, without unpacking more."""
    try:
        _decoded(headers, chunks, MAX_PLAIN_BYTES)
    except _TooLargeError:
        return True
    return False


def package_to_install(headers: Headers) -> str | None:
    """Return the package without which a body with these headers cannot be decoded here; None if there is none."""
    for encoding in _encodings(headers):
        if encoding in _INSTALLED_AS and not _codecs(encoding):
            return _INSTALLED_AS[encoding]
    return None


def _encodings(headers: Headers) -> list[str]:
    """Return the encodings in the order in which they are undone: of several the last was applied last."""
    named = ",".join(value for name, value in headers if name.lower() == "content-encoding").lower().split(",")
    return [encoding.strip() for encoding in reversed(named) if encoding.strip() not in ("", "identity")]


def _decoded(headers: Headers, chunks: _Chunks, limit: int) -> _Chunks | None:
    found: _Chunks | None = chunks
    for encoding in _encodings(headers):
        if found is not None and any(found):
            found = _unpacked(found, encoding, limit)
    return found


def _unpacked(chunks: _Chunks, encoding: str, limit: int) -> _Chunks | None:
    for codec in _codecs(encoding):
        try:
            return _unpacked_by(codec, chunks, limit)
        except codec.error:
            continue
    return None


def _unpacked_by(codec: _Codec, chunks: _Chunks, limit: int) -> _Chunks:
    decoder = codec.make()
    left, unpacked = limit, []
    for chunk in chunks:
        pieces = []
        for at in range(0, len(chunk), codec.step):
            data = chunk[at : at + codec.step]
            while data:
                if decoder.eof:  # A body may consist of several, one after the other.
                    decoder = codec.make()
                pieces.append(decoder.decompress(data))
                data = decoder.unused_data if decoder.eof else b""
                left -= len(pieces[-1])
                if left < 0:
                    raise _TooLargeError
        unpacked.append(b"".join(pieces))
    return tuple(unpacked)


def _codecs(encoding: str) -> list[_Codec]:
    """Return the ways to undo an encoding, the first of which that fits is right; none if it is not known here."""
    if encoding in ("gzip", "x-gzip", "deflate"):
        # `deflate` is zlib's format by the standard, and without zlib's header from some servers.
        every_bits = (47, -zlib.MAX_WBITS) if encoding == "deflate" else (47,)
        return [_Codec(lambda bits=bits: zlib.decompressobj(bits), 4096, zlib.error) for bits in every_bits]  # type: ignore[misc]
    for name in _PACKAGES.get(encoding, ()):
        try:
            module: Any = import_module(name)
        except ImportError:
            continue
        return [_brotli(module) if encoding == "br" else _zstd(module)]
    return []


def _brotli(module: Any) -> _Codec:
    def make() -> SimpleNamespace:
        return SimpleNamespace(eof=False, decompress=module.Decompressor().process)

    return _Codec(make, 32, module.error)  # A few bytes may stand for 16 MB.


def _zstd(module: Any) -> _Codec:
    def make() -> Any:
        made = module.ZstdDecompressor()
        return made.decompressobj() if hasattr(made, "decompressobj") else made

    return _Codec(make, 256, module.ZstdError)  # Four bytes may stand for 128 KB.
