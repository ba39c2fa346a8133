"""Apart: calls that are made for the run itself, so that they are not done as those of its cases are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

APART: ContextVar[bool] = ContextVar("recall_apart", default=False)
"""Whether what is called here passes by the player: it is allowed, and neither recorded nor counted."""
LIVE: ContextVar[bool] = ContextVar("recall_live", default=False)
"""Whether what is called here is made over the network and counted, and not recorded."""
_DIRECT: ContextVar[str] = ContextVar("recall_direct", default="")


@contextmanager
def directly(reason: str) -> Iterator[None]:
    """Let what is called in this block wait for no batch, for this reason."""
    token = _DIRECT.set(reason)
    try:
        yield
    finally:
        _DIRECT.reset(token)


@contextmanager
def known_answers() -> Iterator[None]:
    """Ask a judging model today what it makes of known answers: no case's recording holds these calls."""
    token = LIVE.set(True)
    try:
        # All cases wait for these answers, which come one after the other.
        with directly("known answers, put to a judge"):
            yield
    finally:
        LIVE.reset(token)


def reason() -> str:
    """Return why what is called here must not wait for a batch; empty if it may."""
    return _DIRECT.get()
