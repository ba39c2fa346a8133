"""Requests for tokens: by what they are found, and what of them is recorded."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any
from urllib.parse import urlencode

import pytest

from pytest_recall.replay.equality import key_of
from pytest_recall.replay.exchange import Request
from pytest_recall.replay.matching import Rules
from pytest_recall.replay.redaction import Redactor
from pytest_recall.replay.token_requests import proof_of
from tests.replay.test_tokens import FORM, SIGNATURE, URL, jwt

SECRETS = {"ALICE_REFRESH_TOKEN": "1//0g-refresh-of-alice"}


def form(basic: str = "", **pairs: str) -> Request:
    headers = FORM
    if basic:
        headers += (("authorization", f"Basic {b64encode(basic.encode()).decode()}"),)
    return Request("POST", URL, headers, urlencode(pairs).encode())


def body(**fields: Any) -> Request:
    return Request("POST", URL, (("content-type", "application/json"),), json.dumps(fields).encode())


def recorded(request: Request) -> Request:
    redactor = Redactor(SECRETS)
    clean = redactor.request(request)
    assert redactor.request(clean) == clean
    return clean


def sts(action: str = "AssumeRole", **pairs: str) -> Request:
    asked = {"Action": action, "Version": "2011-06-15", "RoleArn": "arn:aws:iam::1:role/alice", **pairs}
    return Request("GET", f"https://sts.example/?{urlencode(asked)}")


def queried(basic: str) -> Request:
    """Return a request with the grant in its query, as SAP and Spring have it."""
    return form(basic)._replace(url=f"{URL}?grant_type=client_credentials", body=b"")


GRANT = {"grant_type": "client_credentials", "client_id": "alice"}
BEARER = {"grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer"}
SAME = [
    (form(**GRANT, client_secret="one"), form(**GRANT, client_secret="two")),
    (form("alice:one", grant_type="x"), form("alice:two", grant_type="x")),
    (queried("alice:one"), queried("alice:two")),
    (form(grant_type="x", apikey="one"), form(grant_type="x", apikey="two")),
    (form("alice:one", grant_type="x"), form(grant_type="x", client_id="alice")),
    (form(**BEARER, assertion=jwt(exp=1, jti="a")), form(**BEARER, assertion=jwt(exp=2, jti="b"))),
    (form(**GRANT, client_assertion=jwt(iat=1)), form(**GRANT, client_assertion=jwt(iat=2))),
    (
        form(grant_type="password", username="a", password="one"),
        form(grant_type="password", username="a", password="2"),
    ),
    (form(**GRANT, code="one", code_verifier="v", nonce="n"), form(**GRANT, code="two", code_verifier="w", nonce="m")),
    (body(**GRANT, client_secret="one"), body(**GRANT, client_secret="two")),
    (sts(**{"X-Amz-Date": "a", "X-Amz-Signature": "b"}), sts(**{"X-Amz-Date": "c", "X-Amz-Signature": "d"})),
    (sts(RoleSessionName="botocore-session-1773133200"), sts(RoleSessionName="botocore-session-1773139999")),
]
OTHER = [
    (form(**GRANT), form(**{**GRANT, "client_id": "bob"})),
    (form(**GRANT), form(**{**GRANT, "grant_type": "password"})),
    (form(**GRANT, scope="read"), form(**GRANT, scope="write")),
    (form(**GRANT, audience="a"), form(**GRANT, audience="b")),
    (form(**GRANT, resource="a"), form(**GRANT, resource="b")),
    (form("alice:one", grant_type="x"), form("bob:one", grant_type="x")),
    (queried("alice:one"), queried("bob:one")),
    (form(grant_type="password", username="a"), form(grant_type="password", username="b")),
    *((form(**BEARER, assertion=jwt(**{name: "a"})), form(**BEARER, assertion=jwt(**{name: "b"})))
      for name in ("iss", "sub", "aud", "scope", "target_audience")),
    (form(**GRANT, refresh_token=SECRETS["ALICE_REFRESH_TOKEN"]), form(**GRANT, refresh_token="1//another")),
    (form(**GRANT, refresh_token="[MINTED_REFRESH_TOKEN-01234567]"), form(**GRANT, refresh_token="1//another")),
    (body(**GRANT), body(**{**GRANT, "client_id": "bob"})),
    (sts(), sts(RoleArn="arn:aws:iam::1:role/bob")),
    (sts(RoleSessionName="alice"), sts(RoleSessionName="bob")),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), SAME)
def test_what_proves_who_asks_is_no_part_of_the_key(one: Request, other: Request) -> None:
    assert recorded(one) == recorded(other)


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_who_asks_and_for_what_is_part_of_the_key(one: Request, other: Request) -> None:
    assert key_of(recorded(one), Rules()) != key_of(recorded(other), Rules())


@pytest.mark.parametrize("name", ["apikey", "api_key", "refresh_token"])
def test_what_says_on_whose_behalf_is_asked_and_is_not_recorded_tells_two_apart(name: str) -> None:
    asked = [form(grant_type="x", **{name: value}) for value in ("one", "two")]
    assert len({recorded(one) for one in asked}) == 1
    assert len({proof_of(one, recorded(one)) for one in asked}) == 2


def test_nothing_secret_is_recorded() -> None:
    secret = {"client_secret": "s3cr3t-a", "password": "s3cr3t-b", "code_verifier": "s3cr3t-c", "code": "s3cr3t-d"}
    asked = form("alice:s3cr3t-e", **BEARER, **secret, assertion=jwt(jti="s3cr3t-f"), subject_token="s3cr3t-g")
    said = str(recorded(asked))
    assert "s3cr3t" not in said
    assert SIGNATURE not in said
    assert '[JWT+{"sub":"alice"}]' in said


@pytest.mark.parametrize(
    "request_",
    [
        Request("POST", URL, FORM, b"text=grant_type&client=[a]"),
        Request("POST", URL, (), b"grant_type=client_credentials&client_secret=not-a-form"),
        body(messages=[{"content": '"grant_type": "password", "client_secret": "x"'}]),
        Request("GET", "https://ec2.example/?Action=DescribeInstances&Version=2011-06-15"),
    ],
)
def test_what_asks_for_no_token_stays(request_: Request) -> None:
    assert recorded(request_) == request_
