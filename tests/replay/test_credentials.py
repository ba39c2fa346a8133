"""What looks like a secret, named or not."""

from __future__ import annotations

import json
import random
from base64 import b64encode
from hashlib import sha256
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.files.wording import cut, one_line
from pytest_recall.replay.secrets import hidden, suspicious
from tests.helpers.samples import unhurried
from tests.replay.secret_kinds import DIGITS, HEX, PEM, SMALL, made

KEYS = {
    "an OpenAI key": "sk-proj-" + made(40),
    "an Anthropic key": "sk-ant-api03-" + made(90),
    "an OpenRouter key": "sk-or-v1-" + made(64, "0123456789abcdef"),
    "an AWS key id": "AKIA" + made(16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
    "a GitHub token": "ghp_" + made(36),
    "a GitLab token": "glpat-" + made(20),
    "a Google key": "AIza" + made(35),
    "a Google token": "ya29." + made(60),
    "a Slack token": "xoxb-" + made(12, DIGITS) + "-" + made(24),
    "a Hugging Face token": "hf_" + made(34, SMALL + SMALL.upper()),
    "a Stripe key": "sk_test_" + made(24),
    "a SendGrid key": f"SG.{made(22)}.{made(43, seed=8)}",
    "a Databricks token": "dapi" + made(32, HEX) + "-2",
    "a Mailgun key": "key-" + made(32, HEX),
    "a Twilio key": "SK" + made(32, HEX),
    "a Shopify token": "shpat_" + made(32, HEX),
    "a Doppler token": "dp.pt." + made(43),
    "a Perplexity key": "pplx-" + made(48),
    "a Slack webhook": f"hooks.slack.com/services/T{made(8, DIGITS)}/B{made(8, DIGITS, 8)}/{made(24)}",
    "a Groq key": "gsk_" + made(52),
    "a JSON web token": f"eyJ{made(30)}.eyJ{made(40)}.{made(43)}",
}


@pytest.mark.parametrize("said", KEYS)
@pytest.mark.parametrize(
    "around", ["{}", "key: {}.", '"{}"', "Bearer {}", "x={}&y", "a\\n{}\\n", "%3D{}", "是{}吗", "({})"]
)
def test_keys_of_vendors(said: str, around: str) -> None:
    key = KEYS[said]
    assert suspicious(around.format(key)) == [said]


@pytest.mark.parametrize("run", ["1234567", "0123456", "abcdefg", "ABCDEFGH"])
def test_a_run_of_letters_makes_no_example_of_a_long_key(run: str) -> None:
    assert suspicious(f"sk-proj-{run}{made(40)}")
    assert suspicious(f"sk-proj-{made(20)}{run}{made(20)}")


def test_other_github_tokens_and_session_ids() -> None:
    found = suspicious(f"gho_{made(36)} github_pat_{made(40)} ASIA{made(16, '234567ABCDEFGH')}")
    assert found == ["an AWS key id", "a GitHub token"]


@pytest.mark.parametrize(
    "text",
    [
        'curl -H "Authorization: Bearer {}"',
        '{{"headers": {{"authorization": "bearer {}"}}}}',
    ],
)
def test_bearer_tokens(text: str) -> None:
    token = made(40)
    assert suspicious(text.format(token)) == ["a bearer token"]


@pytest.mark.parametrize(
    "text",
    [
        "api-key: {}",
        '"apiKey": "{}"',
        '{{\\"api_key\\": \\"{}\\"}}',
        "AZURE_OPENAI_API_KEY={}",
        "Subscription-Key = {}",
    ],
)
def test_hexadecimal_keys_beside_their_name(text: str) -> None:
    key = made(32, "0123456789abcdef")
    assert suspicious(text.format(key)) == ["a credential beside its name"]
    assert suspicious(f"etag: {key} cache_key: {key} {key}") == []


@pytest.mark.parametrize("escaped", [False, True], ids=["plain", "in JSON"])
@pytest.mark.parametrize("more", ["", "Content-Type: text/plain\r\n"], ids=["bare", "typed"])
def test_fields_of_a_form_in_parts(more: str, escaped: bool) -> None:
    key = made(32, "0123456789abcdef")
    fields = {"password": "Xk39fjs0ALq2", "api_key": key, "city": "Bern-und-so-2"}
    parts = [
        f'--b\r\nContent-Disposition: form-data; name="{name}"\r\n{more}\r\n{value}\r\n'
        for name, value in fields.items()
    ]
    text = f"{''.join(parts)}--b--\r\n"
    assert suspicious(json.dumps(text) if escaped else text) == [
        "a credential beside its name",
        "a password beside its name",
    ]


@pytest.mark.parametrize("line", ["\n", "\\n", "\\\\n", "\r\n"])
@pytest.mark.parametrize("kind", ["", "RSA ", "OPENSSH ", "EC "])
def test_private_keys(kind: str, line: str) -> None:
    head = f"-----BEGIN {kind}PRIVATE KEY-----"
    assert suspicious(f"{head}{line}{made(64)}{line}") == ["a private key"]
    assert suspicious(f"{head}{line}...{line}") == []


def test_a_public_key_is_public() -> None:
    assert suspicious(f"-----BEGIN PUBLIC KEY-----\n{made(64)}\n") == []


def test_each_credential_is_said_once() -> None:
    key = KEYS["an OpenAI key"]
    assert len(suspicious(f"{key} {key} Bearer {key} api_key={key}")) == 1


@pytest.mark.parametrize(
    "text",
    [
        "sk-...",
        "sk-xxxx",
        "sk-" + "x" * 48,
        "sk-test",
        "sk-test-" + made(40),
        "sk-your-api-key-goes-here-1234",
        "sk-1234567890abcdef1234567890abcdef",
        "[OPENAI_API_KEY]",
        "Bearer [OPENAI_API_KEY]",
        "Bearer $OPENAI_API_KEY_OF_THE_TEAM_1",
        "Bearer YOUR_ACCESS_TOKEN_GOES_HERE_2",
        "your-api-key",
        "api_key=os.environ['OPENAI_API_KEY']",
        "api_key: [REDACTED]",
        "AKIAIOSFODNN7EXAMPLE",
        "task-management-and-risk-assessment-2026-planning",
        "hf_hub_download_with_retries_and_more_of_it",
        "the bearer of internationalization",
        "next_page_token: 5",
        sha256(b"a").hexdigest(),
        str(UUID(int=2**100 + 12345)),
        "chatcmpl-" + made(29),
        "toolu_01" + made(22),
        "data:image/png;base64," + b64encode(random.Random(3).randbytes(100_000)).decode(),
    ],
    ids=lambda text: text[:24],
)
def test_what_is_no_credential(text: str) -> None:
    assert suspicious(text) == []
    assert suspicious(json.dumps({"content": f"\n{text}\n"})) == []


@given(st.sampled_from(sorted(KEYS)), st.text(max_size=20), st.text(max_size=20))
@unhurried
def test_a_description_does_not_hold_the_secret(said: str, before: str, after: str) -> None:
    key = KEYS[said]
    assert suspicious(f"{before} {key} {after}") == [said]


@pytest.mark.parametrize(
    "text",
    [
        "a" * 100_000,
        "\\" * 100_000,
        "sk-" * 33_333,
        "eyJ" * 33_333,
        "eyJaaaaaaaaa." * 6_666,
        "api_key:" * 13_333,
        "-----BEGIN PRIVATE KEY-----\n" * 3_333,
        "%25" * 33_333,
        "earer " * 16_666,
        "key \t" * 20_000,
        "://a:b" * 16_666,
        "password=" * 10_000,
        "/api/webhooks/1" * 6_666,
        "123456789:A" * 10_000,
        "eHh4\n" * 20_000,
        "Basic eHh4" * 10_000,
        "form-data; name=a\n" * 6_666,
    ],
    ids=lambda text: repr(text[:6]),
)
def test_no_text_takes_long(text: str) -> None:
    """Were any of these quadratic, the suite would stand still here."""
    assert suspicious(text) == []


TOKEN = "ghp_" + made(36)


@unhurried
@given(st.integers(0, 120), st.sampled_from([" ", '"', ": ", "価", "\n"]), st.integers(1, 120))
def test_what_is_cut_never_holds_a_part_of_a_token(before: int, beside: str, limit: int) -> None:
    text = f"{'a word ' * (before // 7)}{'b' * (before % 7)}{beside}{TOKEN}{beside}and more"
    for said in (one_line(text, limit), cut(text, limit)):
        assert TOKEN[4:9] not in hidden(said)
        assert TOKEN[-5:] not in hidden(said)


@pytest.mark.parametrize(
    "text", [TOKEN, f'{{"a": "{TOKEN}"}}', f"{TOKEN} and {TOKEN}", b64encode(TOKEN.encode()).decode()]
)
def test_what_is_hidden_holds_no_credential(text: str) -> None:
    assert suspicious(text)
    assert suspicious(hidden(text)) == []
    assert TOKEN not in hidden(text)


def test_a_private_key_is_hidden_as_a_whole() -> None:
    assert made(64, seed=8) not in hidden(f"read: {PEM}")


def test_what_is_beside_a_credential_is_told() -> None:
    assert hidden(f"token {TOKEN}, please") == "token [REDACTED], please"
