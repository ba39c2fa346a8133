"""The certificates that httpx trusts, read once in a process: each client reads them, which takes 30 ms of the CPU.

Clients of tests speak to the loopback device without TLS, and have no use for them.
"""

from __future__ import annotations

import contextlib
import functools
import os
import ssl
from collections.abc import Iterator
from typing import Any
from unittest import mock

from httpx._transports import default

_create: Any = vars(default)["create_ssl_context"]


@functools.cache
def _context(*_: object) -> ssl.SSLContext:
    made: ssl.SSLContext = _create()
    return made


@functools.wraps(_create)
def _once(verify: Any = True, cert: Any = None, trust_env: bool = True) -> ssl.SSLContext:
    if verify is True and cert is None and trust_env:
        return _context(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))
    found: ssl.SSLContext = _create(verify=verify, cert=cert, trust_env=trust_env)
    return found


@contextlib.contextmanager
def certificates_once() -> Iterator[None]:
    """Let clients share what was read."""
    with mock.patch.object(default, "create_ssl_context", _once):
        yield
