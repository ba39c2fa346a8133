"""Tokens that an answer hands out: what stands for them, and what time they have when they are served."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from pathlib import Path
from typing import Any

import pytest

from pytest_recall.replay.exchange import Exchange, Headers, Request, Response
from pytest_recall.replay.redaction import Redactor
from pytest_recall.replay.secrets import suspicious
from pytest_recall.replay.tokens import hands_out, have_one_answer, holds_minted, minted, renewed
from tests.replay.test_tape import tape_of

AT = "2026-03-10T09:00:00+00:00"
MADE = 1773133200
"""The same in seconds since 1970."""
LATER = MADE + 30 * 86400
KEY = "0123456789abcdef" * 2
SIGNATURE = "c2lnbmF0dXJlLW9mLXRoZS1pc3N1ZXI5OGY3Zzg5N2c4OTc"
URL = "https://idp.example/token"
FORM: Headers = (("content-type", "application/x-www-form-urlencoded"),)


def encoded(value: Any) -> str:
    return urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def jwt(**claims: Any) -> str:
    head = {"alg": "RS256", "kid": "k1", "typ": "JWT", "x5t": "thumb"}
    return f"{encoded(head)}.{encoded({'sub': 'alice', **claims})}.{SIGNATURE}"


def claims_in(token: str) -> dict[str, Any]:
    part = token.split(".")[1]
    claims: dict[str, Any] = json.loads(urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    return claims


def answer(body: Any, url: str = URL, at: str = AT) -> Exchange:
    data = body if isinstance(body, str) else json.dumps(body)
    return Exchange("", 0, "agent", Request("POST", url), Response(200, chunks=(data.encode(),)), at=at)


def body_of(exchange: Exchange) -> str:
    assert exchange.response is not None
    return exchange.response.body.decode()


def given(exchange: Exchange) -> tuple[str, dict[str, str]]:
    """Return what is recorded of an answer, and the tokens that were taken out of it."""
    changed, found = minted(exchange, lambda: KEY)
    return body_of(changed), found


AWS = {
    "AccessKeyId": "ASIA5RAGHX3SDIK7QL2M",
    "SecretAccessKey": "wJalrXUtnFEMIK7MDENG",
    "Expiration": "2026-03-10T10:00:00Z",
}
XML = (
    "<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>ASIA5RAGHX3SDIK7QL2M</AccessKeyId>"
    "<SecretAccessKey>wJalrXUt/nFE+MIK7</SecretAccessKey><SessionToken>FwoGZXIvYXdzE==</SessionToken>"
    "<Expiration>2026-03-10T10:00:00Z</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>"
)
GITHUB = "https://ghe.example/api/v3/app/installations/7/access_tokens"
HANDED_OUT = [
    ({"access_token": "ya29.a0Ab", "token_type": "Bearer", "expires_in": 3599}, URL, {"ya29.a0Ab"}),
    ({"access_token": "opaque-1", "token_type": "bearer", "refresh_token": "1//0g"}, URL, {"opaque-1", "1//0g"}),
    ({"id_token": jwt()}, URL, {jwt()}),
    ({"device_code": "GmRhmhcxhwAzkoEqiMEg", "user_code": "WDJB-MJHT"}, URL, {"GmRhmhcxhwAzkoEqiMEg"}),
    ({"accessToken": "ya29.c.b0", "expireTime": "2026-03-10T10:00:00Z"}, URL, {"ya29.c.b0"}),
    ({"accessToken": "aoa", "tokenType": "Bearer", "refreshToken": "aor"}, URL, {"aoa", "aor"}),
    ({**AWS, "Token": "IQoJb3JpZ2"}, URL, {AWS["AccessKeyId"], AWS["SecretAccessKey"], "IQoJb3JpZ2"}),
    ({"Credentials": {**AWS, "SessionToken": "IQo"}}, URL, {AWS["AccessKeyId"], AWS["SecretAccessKey"], "IQo"}),
    (XML, URL, {"ASIA5RAGHX3SDIK7QL2M", "wJalrXUt/nFE+MIK7", "FwoGZXIvYXdzE=="}),
    ({"token": "ghs_16C7e42F292c69", "expires_at": "2026-03-10T10:00:00Z"}, GITHUB, {"ghs_16C7e42F292c69"}),
    (jwt(), "http://metadata.google.internal/identity", {jwt()}),
    ({"access_token": jwt(), "expires_at": MADE * 1000}, URL, {jwt()}),
    ({"code": 0, "tenant_access_token": "t-g1044qeGEDXTB6NDJ", "expire": 7140}, URL, {"t-g1044qeGEDXTB6NDJ"}),
    (
        {"token": "tid=2f1;exp=1773133200;sku=x", "expires_at": MADE, "refresh_in": 1500},
        URL,
        {"tid=2f1;exp=1773133200;sku=x"},
    ),
    ({"token": jwt(), "issued_at": "2026-03-10T09:00:00Z"}, URL, {jwt()}),
    ({"data": {"token": "tk9Xq2LmZ8vRw4Ns7Yc1", "user": {"id": 1}}}, URL, {"tk9Xq2LmZ8vRw4Ns7Yc1"}),
    (
        {"auth": {"client_token": "hvs.CAESItk9Xq2LmZ8vRw4Ns7Yc1", "lease_duration": 9}},
        URL,
        {"hvs.CAESItk9Xq2LmZ8vRw4Ns7Yc1"},
    ),
    ({"client_secret": {"value": "ek_tk9Xq2LmZ8vRw4Ns7", "expires_at": MADE}}, URL, {"ek_tk9Xq2LmZ8vRw4Ns7"}),
    ({"AuthenticationResult": {"IdToken": jwt(), "RefreshToken": "r-1"}}, URL, {jwt(), "r-1"}),
    ({"idToken": jwt(), "refreshToken": "AMf-vBw9", "expiresIn": "3600"}, URL, {jwt(), "AMf-vBw9"}),
    ({"sessionToken": "20111nt7", "expiresAt": "2026-03-10T10:00:00Z"}, URL, {"20111nt7"}),
    ({"accessJwt": jwt(), "refreshJwt": jwt(sub="b"), "handle": "x"}, URL, {jwt(), jwt(sub="b")}),
    (
        {"Credentials": {"AccessKeyId": "STS.N", "AccessKeySecret": "s3", "SecurityToken": "CAIS"}},
        URL,
        {"STS.N", "s3", "CAIS"},
    ),
    ("access_token=gho_16C7e42F&scope=repo&token_type=bearer", URL, {"gho_16C7e42F"}),
]


@pytest.mark.parametrize(("body", "url", "tokens"), HANDED_OUT)
def test_each_token_of_an_answer_becomes_a_placeholder_of_what_was_asked(body: Any, url: str, tokens: set[str]) -> None:
    recorded, found = given(answer(body, url))
    assert set(found.values()) == tokens
    assert not any(token in recorded for token in tokens)
    assert all(name.startswith("MINTED_") and name.endswith(KEY[:8]) and name in recorded for name in found)
    assert SIGNATURE not in recorded
    assert suspicious(recorded) == []
    assert given(answer(recorded, url)) == (recorded, {})
    # Where it was asked is not read of a recorded answer.
    assert hands_out(answer(recorded, ""))
    assert not hands_out(answer(body, url))


@pytest.mark.parametrize("text", ["[MINTED_ACCESS_TOKEN-01234567]", json.dumps({"said": "[MINTED_TOKEN-01234567]"})])
def test_an_answer_that_repeats_a_placeholder_hands_out_none(text: str) -> None:
    assert not hands_out(answer(text))


@pytest.mark.parametrize(
    ("body", "url"),
    [
        ({"token": "a text", "text": jwt()}, URL),
        ({"token": "a-word-that-is-very-long", "next_page_token": "CAUQAA0123456789abcdef"}, URL),
        ({"value": "a value that is cached", "expires_at": MADE}, URL),
        ({"value": "tk9Xq2LmZ8vRw4Ns7Yc1"}, URL),
        ({"choices": [{"logprobs": {"content": [{"token": "Hello", "logprob": -0.1}]}}]}, URL),
        ({"access_token": 7, "expires_in": 3599}, URL),
        ("Call it with ?a=b&access_token=abcdef", URL),
        ({"choices": [{"access_token": "a", "token_type": "b"}]}, URL),
        ({"access_token": "", "token_type": "Bearer"}, URL),
        ({"access_token": "[MY_TOKEN]", "token_type": "Bearer"}, URL),
        ("data: {}\n\n", URL),
        ("{broken", URL),
        ("<a>b</a>", URL),
    ],
)
def test_what_has_not_the_form_of_such_an_answer_stays(body: Any, url: str) -> None:
    assert given(answer(body, url)) == (body_of(answer(body, url)), {})


def test_a_json_web_token_keeps_its_claims_without_ids_hashes_and_signature() -> None:
    said = {"aud": "app", "exp": MADE + 3600, "jti": "j-1", "at_hash": "h", "nonce": "n", "oid": 7}
    recorded, _ = given(answer({"id_token": jwt(**said)}))
    token = json.loads(recorded)["id_token"]
    head, _, signature = token.split(".")
    assert claims_in(f".{head}") == {"alg": "RS256", "kid": "k1", "typ": "JWT"}
    assert claims_in(token) == {
        "sub": "alice",
        **said,
        "jti": "[JTI]",
        "at_hash": "[AT_HASH]",
        "nonce": "[NONCE]",
    }
    assert len(signature) % 4 != 1
    assert suspicious(jwt(**said)) == ["a JSON web token"]
    hidden = jwt(note="sk-ant-" + "a8D7f6G5h4J3k2L1m0Q9w8E7")
    assert suspicious(given(answer({"id_token": hidden}))[0]) == ["an Anthropic key"]


@pytest.mark.parametrize(
    ("field", "before", "after"),
    [
        ("expires_in", 3599, 3599),
        ("expires_on", str(MADE + 3600), str(LATER + 3599)),
        ("expires_on", MADE + 3600, LATER + 3599),
        ("expires_at", MADE + 3600.5, LATER + 3599.5),
        ("not_before", (MADE + 1) * 1000, LATER * 1000),
        ("expires_at", "2026-03-10T10:00:00Z", "2026-04-09T09:59:59Z"),
        ("expires_at", "2026-03-10T10:00:00.250Z", "2026-04-09T09:59:59.250Z"),
        ("expires_at", "2026-03-10T10:00:00+00:00", "2026-04-09T09:59:59+00:00"),
        ("expires_at", "never", "never"),
        ("expires_at", True, True),
        ("expires_at", 0, 0),
        ("other", MADE, MADE),
    ],
)
def test_a_served_token_is_as_old_as_it_was_when_it_was_recorded(field: str, before: Any, after: Any) -> None:
    """Less a second, as calls are recorded without fractions of one."""
    recorded, _ = minted(answer({"access_token": "opaque-1", "token_type": "b", field: before}), lambda: KEY)
    assert json.loads(body_of(renewed(recorded, LATER)))[field] == after
    assert renewed(recorded._replace(at=""), LATER) == recorded._replace(at="")


def test_the_claims_and_the_credentials_of_aws_are_as_old_as_well() -> None:
    recorded, _ = minted(answer({"id_token": jwt(iat=MADE, exp=MADE + 3600, nbf=MADE)}), lambda: KEY)
    claims = claims_in(json.loads(body_of(renewed(recorded, LATER)))["id_token"])
    assert claims == {"sub": "alice", "iat": LATER - 1, "exp": LATER + 3599, "nbf": LATER - 1}
    recorded, _ = minted(answer(XML), lambda: KEY)
    assert "<Expiration>2026-04-09T09:59:59Z</Expiration>" in body_of(renewed(recorded, LATER))
    recorded, _ = minted(answer({"token": "ghs_1", "expires_at": "2026-03-10T10:00:00Z"}, GITHUB), lambda: KEY)
    # What is served is read without its request.
    served = renewed(recorded._replace(request=Request("", "")), LATER)
    assert json.loads(body_of(served))["expires_at"] == "2026-04-09T09:59:59Z"


def test_what_holds_no_minted_token_has_the_times_that_were_recorded() -> None:
    plain = answer({"access_token": "a", "token_type": "b", "expires_on": MADE})
    assert renewed(plain, LATER) is plain


def test_answers_with_tokens_are_the_same_whatever_their_times_and_tokens_are() -> None:
    def recorded(token: str, late: int, scope: str = "read", sub: str = "alice") -> Exchange:
        body = {"access_token": token, "token_type": "b", "expires_in": 3600 - late, "scope": scope}
        return minted(answer({**body, "id_token": jwt(sub=sub, exp=MADE + late, jti=token)}), lambda: KEY)[0]

    assert have_one_answer((recorded("one-token", 0), recorded("another-token", 7)))
    assert not have_one_answer((recorded("one-token", 0), recorded("one-token", 0, scope="write")))
    assert not have_one_answer((recorded("one-token", 0), recorded("one-token", 0, sub="bob")))


class TestLater:
    """A token that was handed out is known wherever it stands from then on."""

    def test_it_is_found_by_its_placeholder(self, tmp_path: Path) -> None:
        tape = tape_of(tmp_path, mode="record")
        asked = Request("POST", URL, FORM, b"grant_type=client_credentials&client_id=alice")
        handed = {"access_token": "ya29.a0AfB_byC-d3", "token_type": "b", "id_token": jwt(exp=MADE), "expires_on": MADE}
        fetched = answer(handed)._replace(request=asked)
        tape.keep(fetched, record=True)
        used = Request("POST", "https://x.example/a?q=ya29.a0AfB_byC-d3", FORM, f"token={jwt(exp=MADE)}".encode())
        tape.keep(answer("you said ya29.a0AfB_byC-d3")._replace(request=used, seq=1), record=True)
        tape.close()
        assert tape.problems == []
        told, later = tape.recorded()
        assert "ya29" not in str((told, later))
        assert SIGNATURE not in str((told, later))
        assert tape.redactor.text("ya29.a0AfB_byC-d3") == json.loads(body_of(told))["access_token"]
        # In a replay a client has what was recorded, in its own time, and knows no secret.
        (tmp_path / "replay").mkdir()
        replay = tape_of(tmp_path / "replay", told, later)
        served = replay.serve(asked, "agent")
        assert served is not None
        tokens = json.loads(body_of(served))
        body = f"token={tokens['id_token']}".encode()
        url = "https://x.example/a?q=" + tokens["access_token"].replace("[", "%5B").replace("]", "%5D")
        again = Request("POST", url, FORM, body)
        assert holds_minted(again)
        assert tokens["id_token"] != json.loads(body_of(told))["id_token"]
        assert replay.serve(again, "agent") is not None

    def test_two_clients_have_two_names(self, tmp_path: Path) -> None:
        tape = tape_of(tmp_path, mode="record")
        for seq, client in enumerate(("alice", "bob")):
            asked = Request("POST", URL, FORM, f"grant_type=client_credentials&client_id={client}".encode())
            body = {"access_token": f"token-of-{client}", "token_type": "b"}
            tape.keep(answer(body)._replace(request=asked, seq=seq), record=True)
        tape.close()
        names = {tape.redactor.text(f"token-of-{client}") for client in ("alice", "bob")}
        assert len(names) == 2

    def test_the_same_value_keeps_the_name_that_it_has(self) -> None:
        redactor = Redactor({"MY_REFRESH_TOKEN": "1//0g-of-the-environment"})
        redactor.learn({"MINTED_ACCESS_TOKEN-01234567": "opaque-1234"})
        body = {"access_token": "opaque-1234", "token_type": "b", "refresh_token": "1//0g-of-the-environment"}
        changed, found = minted(answer(body), lambda: "f" * 32, redactor.text)
        assert found == {"MINTED_ACCESS_TOKEN-01234567": "opaque-1234"}
        assert json.loads(body_of(changed))["refresh_token"] == "[MY_REFRESH_TOKEN]"

    def test_whom_nothing_names_is_not_taken_for_another(self, tmp_path: Path) -> None:
        tape = tape_of(tmp_path, mode="record")
        for seq, token in enumerate(("1//0g-of-alice", "1//0g-of-alice", "1//0g-of-bob")):
            body = f"grant_type=refresh_token&client_id=app&refresh_token={token}".encode()
            asked = Request("POST", URL, FORM, body)
            tape.keep(answer({"ok": True})._replace(request=asked, seq=seq), record=True)
        tape.close()
        assert [problem.count("on behalf of someone") for problem in tape.problems] == [1]
        assert len(tape.recorded()) == 2

    def test_a_short_one_is_replaced_where_it_is_handed_out_alone(self) -> None:
        redactor = Redactor({})
        redactor.learn({"MINTED_ACCESS_TOKEN-01234567": "token"})
        assert redactor.text("a token") == "a token"
