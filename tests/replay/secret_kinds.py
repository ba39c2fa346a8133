"""Kinds of secrets, and the places of a call in which one may stand. All are made up; none was ever in use."""

from __future__ import annotations

import json
import random
from base64 import b64encode
from collections.abc import Callable
from urllib.parse import quote, quote_plus, urlencode

from pytest_recall.replay.exchange import Exchange, Headers, Request, Response

SMALL = "abcdefghijklmnopqrstuvwxyz"
DIGITS = "0123456789"
HEX = "0123456789abcdef"
ALL = SMALL + SMALL.upper() + DIGITS


def made(length: int, letters: str = ALL, seed: int = 7) -> str:
    """Return characters that no one chose."""
    return "".join(random.Random(seed).choices(letters, k=length))


PEM = "\n".join(
    [
        "-----BEGIN RSA PRIVATE KEY-----",
        made(64),
        made(64, seed=8),
        made(40, seed=9) + "==",
        "-----END RSA PRIVATE KEY-----",
    ]
)
SLACK = f"T{made(8, DIGITS + 'ABCDEF')}/B{made(8, DIGITS + 'ABCDEF', 8)}/{made(24)}"
KINDS = {
    "OpenAI key": "sk-proj-" + made(40),
    "Anthropic key": "sk-ant-api03-" + made(90),
    "OpenRouter key": "sk-or-v1-" + made(64, HEX),
    "AWS key id": "AKIA" + made(16, SMALL.upper() + "234567"),
    "AWS secret key": f"aws_secret_access_key = {made(40, ALL + '/+')}",
    "GitHub token": "ghp_" + made(36),
    "GitHub fine-grained token": f"github_pat_{made(22)}_{made(59, seed=8)}",
    "GitLab token": "glpat-" + made(20),
    "Google key": "AIza" + made(35),
    "Google OAuth token": "ya29." + made(60),
    "Slack token": f"xoxb-{made(12, DIGITS)}-{made(12, DIGITS, 8)}-{made(24)}",
    "Slack webhook": f"https://hooks.slack.com/services/{SLACK}",
    "Discord webhook": f"https://discord.com/api/webhooks/1{made(18, DIGITS)}/{made(68)}",
    "Telegram token": f"7{made(9, DIGITS)}:AA{made(33)}",
    "SendGrid key": f"SG.{made(22)}.{made(43, seed=8)}",
    "Databricks token": "dapi" + made(32, HEX),
    "Stripe live key": "sk_live_" + made(24),
    "Stripe test key": "sk_test_" + made(24),
    "Twilio key": "SK" + made(32, HEX),
    "Hugging Face token": "hf_" + made(34, SMALL + SMALL.upper()),
    "npm token": "npm_" + made(36),
    "PyPI token": "pypi-AgEIcHlwaS5vcmc" + made(70),
    "JSON web token": f"eyJ{made(30)}.eyJ{made(40, seed=8)}.{made(43, seed=9)}",
    "private key": PEM,
    "database URL": "postgres://app:Kw7%2Bq9ZtLm@db.internal:5432/prod",
    "password": "password=Kw7+q9Zt-Lm",
    "Azure key beside its name": f"api-key: {made(32, HEX)}",
}
"""Twenty-seven kinds, and one of each."""

URL = "https://api.test/v1/chat/completions"
JSON: Headers = (("content-type", "application/json"),)
OK = Response(200, "OK", JSON, (b'{"text":"yes"}',))


def _call(request: Request, response: Response = OK) -> Exchange:
    return Exchange("", 0, "agent", request, response)


def _asked(text: str) -> Request:
    return Request("POST", URL, JSON, json.dumps({"messages": [{"role": "user", "content": text}]}).encode())


def _streamed(secret: str) -> Exchange:
    """Return an answer that spells out a secret over several events, as models do."""
    text = f"It is {secret} there."
    pieces = [text[start : start + 5] for start in range(0, len(text), 5)]
    chunks = tuple(
        f"data: {json.dumps({'id': 'c-1', 'choices': [{'index': 0, 'delta': {'content': piece}}]})}\n\n".encode()
        for piece in pieces
    )
    return _call(_asked("Which?"), Response(200, "OK", (("content-type", "text/event-stream"),), chunks))


PLACES: dict[str, Callable[[str], Exchange]] = {
    "JSON body": lambda secret: _call(_asked(f"Use {secret} for it.")),
    "form body": lambda secret: _call(
        Request(
            "POST",
            URL,
            (("content-type", "application/x-www-form-urlencoded"),),
            urlencode({"note": f"Use {secret} for it.", "page": "1"}).encode(),
        )
    ),
    "query": lambda secret: _call(Request("GET", f"{URL}?q={quote_plus(secret)}&page=1", JSON)),
    "URL path": lambda secret: _call(Request("GET", f"https://api.test/v1/{quote(secret, safe='')}/files", JSON)),
    "header": lambda secret: _call(
        _asked("Hello?"), OK._replace(headers=(*JSON, ("x-request-id", " ".join(secret.split()))))
    ),
    "answer": lambda secret: _call(
        _asked("Which?"), OK._replace(chunks=(json.dumps({"text": f"It is {secret} there."}).encode(),))
    ),
    "base64 in a body": lambda secret: _call(_asked(b64encode(f"Use {secret} for it.".encode()).decode())),
    "streamed answer": _streamed,
}
"""Eight places, and how a call with a secret there looks."""
