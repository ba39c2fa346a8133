"""Outages: which exceptions tell of one, what is said of it, and after how many a run stops."""

from __future__ import annotations

import errno
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_recall.files.errors import CaseError, RecallError
from pytest_recall.models.outage import Outage, Streak, outage_of, outage_text

URL = "https://user:pw@api.example.com:8443/v1?key=AIza"


class StatusError(Exception):
    """An error of a client with any attributes."""

    def __init__(self, text: str = "no", **attributes: Any) -> None:
        super().__init__(text)
        vars(self).update(attributes)


class APIConnectionError(Exception):
    """What SDKs call it."""

    @property
    def request(self) -> Any:
        """Raise, as httpx does for a request that was not set."""
        raise RuntimeError("not set")


class OpenAIError(Exception):
    """What openai raises itself for a client without a key, and what its other errors are."""


class LengthFinishReasonError(OpenAIError):
    """One that may be due to the question."""


class CredentialsError(Exception):
    """What anthropic calls it."""


class IdentityTokenFileError(CredentialsError):
    """A kind of it."""


class ServerTimeoutError(TimeoutError):
    """A timeout of a library's own."""


def raised(error: Exception, before: Exception) -> Exception:
    """Return `error` as it is caught, raised from None while `before` was handled."""
    try:
        try:
            raise before
        except Exception:
            raise error from None
    except Exception as caught:
        return caught


def said(error: BaseException) -> str | None:
    found = outage_of(error)
    return None if found is None else f"{found.kind}: {outage_text(found)}"


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (StatusError(status_code=401), "refused: the provider refuses the key (401: no)"),
        (
            StatusError(status_code=403, response=SimpleNamespace(url=URL)),
            "refused: api.example.com:8443 refuses the key (403: no)",
        ),
        (
            StatusError(status_code=429, body={"message": "slow down"}),
            "limited: the provider says that it is asked too often (429: slow down)",
        ),
        (
            StatusError(status_code=429, code="insufficient_quota"),
            "spent: the provider says that the quota is used up (429: no)",
        ),
        (
            StatusError(status_code=400, body={"error": {"message": "Your credit balance is too low"}}),
            "spent: the provider says that the quota is used up (400: Your credit balance is too low)",
        ),
        (StatusError(status=503, host="h", port=80), "failing: h:80 fails (503: no)"),
        (StatusError(code=404, url=URL), "absent: api.example.com:8443 has no such model or address (404: no)"),
        (
            StatusError(response={"Error": {"Code": "X", "Message": "m"}, "ResponseMetadata": {"HTTPStatusCode": 500}}),
            "failing: the provider fails (500: X: m)",
        ),
        (
            StatusError(
                response={"Error": {"Code": "ExpiredTokenException"}, "ResponseMetadata": {"HTTPStatusCode": 400}}
            ),
            "refused: the provider refuses the key (400: ExpiredTokenException: no)",
        ),
        (StatusError(f"for url: {URL}", status_code=500), "failing: the provider fails (500: for url: *)"),
        (
            ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused"),
            "unreachable: the provider cannot be reached ([Errno 111] Connection refused)",
        ),
        (StatusError(status_code=408), "silent: the provider does not answer in time (408: no)"),
        (ServerTimeoutError("3 s"), "silent: the provider does not answer in time (3 s)"),
        (OpenAIError("set\n`KEY`"), "unset: the client is not set up (set `KEY`)"),
        (IdentityTokenFileError(), "unset: the client is not set up (IdentityTokenFileError)"),
        # These may be due to the question, or are the agent's own.
        (LengthFinishReasonError("too long"), None),
        (StatusError(status_code=400), None),
        (StatusError(code="404"), None),
        (ConnectionError("no service"), None),
        (TimeoutError("no answer"), None),
        (KeyError("x"), None),
    ],
)
def test_what_an_exception_tells_of(error: Exception, expected: str | None) -> None:
    found = said(error)
    if expected is None or not expected.endswith("*)"):
        assert found == expected
    else:
        assert found is not None
        assert found.startswith(expected.removesuffix("*)"))
        assert "AIza" not in found


def test_a_group_is_an_outage_if_all_in_it_are() -> None:
    down, slow = OSError(errno.ECONNREFUSED, "refused"), StatusError(status_code=500)
    told = said(down)
    assert told is not None
    assert said(ExceptionGroup("tasks", [down, ExceptionGroup("more", [slow])])) == told
    assert said(ExceptionGroup("tasks", [down, ValueError("wrong")])) is None
    assert said(raised(StatusError(status_code=401), ExceptionGroup("tries", [down]))) == said(
        StatusError(status_code=401)
    )


def test_it_is_looked_for_in_what_an_exception_came_from() -> None:
    sdk = APIConnectionError("Connection error.")
    sdk.__cause__ = ConnectionRefusedError(errno.ECONNREFUSED, "refused")
    assert said(sdk) == "unreachable: the provider cannot be reached ([Errno 111] refused)"
    # A judge's sentence, and what a case makes of it, hide the traceback and not the cause.
    sentence = RecallError("cannot be asked")
    sentence.__cause__ = sdk
    assert said(raised(CaseError("judge rubric", "cannot be asked"), sentence)) == said(sdk)
    assert said(raised(ValueError("the agent goes another way"), sdk)) is None


@pytest.mark.parametrize(
    ("limit", "keys", "stops"),
    [
        (3, "aaa", [False, False, True]),
        (3, "aabaaa", [False, False, False, False, False, True]),
        (3, "aa-aa", [False] * 5),
        (3, "---", [False] * 3),
        (1, "-a", [False, True]),
        (None, "aaaaaaa", [False] * 7),
    ],
)
def test_so_many_in_a_row_are_enough(limit: int | None, keys: str, stops: list[bool]) -> None:
    streak = Streak(limit)
    assert [streak.add(key.replace("-", "")) for key in keys] == stops


def test_a_kind_of_a_later_version_is_not_known() -> None:
    assert Outage.from_json({"kind": "moon", "host": "h", "message": "m"}) is None
    found = Outage("failing", "h", "m")
    assert Outage.from_json(found._asdict()) == found
