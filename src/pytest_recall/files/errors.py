"""Define the errors: one sentence each, whose last clause says how to fix it."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator
from difflib import get_close_matches

from pytest_recall.files.wording import one_line


class RecallError(Exception):
    """A mistake that a person can correct; every shell prints it without a traceback.

    `messages` holds one sentence per problem found, in the order found, so that a file
    with three mistakes is corrected in one go.
    """

    def __init__(self, *messages: str) -> None:
        super().__init__("\n".join(messages))
        self.messages = messages


class StoppedError(RecallError):
    """What was stopped with Ctrl-C, and how to go on; it ends a command with `STOPPED`."""


STOPPED = 130
"""The exit code after Ctrl-C, as shells have it: 128 and the number of the signal."""


class CaseError(RecallError):
    """A trial that ended without a verdict, which moves no box.

    `stage` names what broke ("agent", "judge contains"); the exception that broke it, if
    there was one, is the `__cause__`.
    """

    def __init__(self, stage: str, message: str) -> None:
        super().__init__(f"{stage}: {message}")
        self.stage = stage


class UnrecordableError(RecallError):
    """A call that may not be written down; `cause` says why.

    It is `secret` where it holds what looks like one, `size` or `encoding` where its answer cannot be searched for any,
    and `credential` where nothing but that tells it from another call.
    """

    def __init__(self, cause: str, message: str) -> None:
        super().__init__(message)
        self.cause = cause


class ArgumentError(RecallError, ValueError):
    """What a judge cannot judge with or by: an argument, a missing package, what the case or the agent leaves out."""


class MissError(BaseException):
    """A call that no recording answers, or that the policy forbids.

    It is no `Exception`, so that neither the retries of an SDK nor an agent's `except
    Exception` can take it for a bad connection and go on: the test has to end here. It is `unpaid` where there is
    no money for the call.
    """

    unpaid = False


class AfterSessionError(MissError, SystemExit):
    """The same for what has outlived its session, where no test hears of it: at exit it ends without a traceback."""


def nearest(name: str, known: Iterable[str]) -> str:
    """Return ``"; did you mean `x`?"`` for the nearest known name, or the known ones."""
    names = sorted(set(known))
    close = get_close_matches(name, names, n=3, cutoff=0.6)
    if close:
        return "; did you mean " + " or ".join(f"`{c}`" for c in close) + "?"
    if not names:
        return "; there are none"
    shown = ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
    return f"; known: {shown}"


def is_full(error: BaseException) -> bool:
    """Whether the system refused to write since there is no room, or no more for this user or file."""
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def refused_by_system(error: OSError) -> str:
    """Return the file at which the system refused something, and why."""
    return f"{error.filename or 'a file'}: {error.strerror or error}"


def remedy_of(error: OSError) -> str:
    """Return what to do about something that the system refused."""
    if is_full(error):
        return "make room"
    if error.errno in (errno.EEXIST, errno.ENOTDIR):
        return "a file is where a folder has to be; move it away"
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return "give this user the right to read and write there"
    return "correct that"


def sentence_of(error: Exception) -> str:
    """Return what an error says to people; of one of the system the file and the reason, without its number."""
    return refused_by_system(error) if isinstance(error, OSError) and error.strerror else str(error)


def single_errors(error: BaseException) -> Iterator[BaseException]:
    """Yield the exceptions of a group, such as that of a TaskGroup, and of groups in it; any other one by itself."""
    if isinstance(error, BaseExceptionGroup):
        for one in error.exceptions:
            yield from single_errors(one)
    else:
        yield error


def message_of(error: BaseException, *, named: bool = True) -> str:
    """Return what an exception says, with its class if it is to be `named`; of a group, what each one in it says."""
    told = (str(one) for one in single_errors(error))
    if named:
        told = (f"{type(one).__name__}: {one_line(str(one)) or 'no message'}" for one in single_errors(error))
    return "; ".join(dict.fromkeys(told))


def fault_text(error: BaseException, file: str = "") -> str:
    """Return in words what an exception of others' code says, and where: in `file`, if it came through that."""
    frames = []
    at = error.__traceback__
    while at is not None:
        if not at.tb_frame.f_code.co_filename.startswith("<"):  # Such as Python's own machinery of imports.
            frames.append((at.tb_frame.f_code.co_filename, at.tb_lineno))
        at = at.tb_next
    places = [frame for frame in frames if frame[0] == file] or frames
    said = f": {error}" if str(error) else ""
    where = f", {places[-1][0]}:{places[-1][1]}" if places else ""
    return one_line(f"{type(error).__name__}{said}{where}", 400)
