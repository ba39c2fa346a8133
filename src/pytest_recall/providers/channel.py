"""Channel: what stands between a program that is asked and its call, so that it can be recorded or forbidden."""

from __future__ import annotations

from collections.abc import Callable

from pytest_recall.core.exchange import Request, Response

Channel = Callable[[Request, Callable[[], Response]], Response]
"""Takes the request, and what makes the call, and returns the response.

The method is `RUN`, the URL `command:///` and the selector, the body the prompt. A response
has the status 200 and what was printed; or 500, with the exit code and the last line of
standard error as its reason. A call that was ended raises ModelError.
"""


def direct(request: Request, call: Callable[[], Response]) -> Response:
    """Make the call."""
    return call()
