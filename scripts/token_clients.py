"""Agents that fetch tokens by the SDKs that do, and a server that hands them out, for `check-clients.py`.

An agent asks for a token of the client that its question names and for the scope `HEADER`, and answers with whom the
server takes the bearer of that token for. Each checks that the SDK takes the token for one that has not expired.
"""

from __future__ import annotations

import json
import secrets
import time
from base64 import b64decode, urlsafe_b64decode, urlsafe_b64encode
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler
from typing import Any, ClassVar
from urllib.parse import parse_qsl

SECRET = "s3cr3t-of-the-client-8f7"
NAMED = 'who = "".join(prompt.split()).replace(":", "-")\n'
LATER = """\
import contextlib
import time
if os.environ.get("LATER"):
    import time_machine
    travel = time_machine.travel(time.time() + 30 * 86400)
else:
    travel = contextlib.nullcontext()
with travel:
"""
GOOGLE = """\
import google.auth.transport.requests
from google.oauth2 import service_account
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
key = rsa.generate_private_key(65537, 2048).private_bytes(
    serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
).decode()
info = {"client_email": who, "token_uri": URL + "/token", "private_key": key, "private_key_id": "k"}
"""
MSAL = f"""\
import requests
class ToLoopback(requests.adapters.HTTPAdapter):
    def send(self, request, **kw):
        request.url = request.url.replace("https://idp.test", URL)
        return super().send(request, **kw)
session = requests.Session()
session.mount("https://idp.test", ToLoopback())
app = msal.ConfidentialClientApplication(
    who, client_credential={SECRET!r}, oidc_authority="https://idp.test/tenant", http_client=session
)
found = app.acquire_token_for_client([HEADER])
assert app.acquire_token_for_client([HEADER])["token_source"] == "cache"
"""
ME = 'headers={"authorization": "Bearer " + found["access_token"]}'

TOKEN_CLIENTS = (
    (
        "google-auth",
        "google.auth",
        GOOGLE
        + "made = service_account.Credentials.from_service_account_info(info, scopes=[HEADER])\n"
        + 'answer = google.auth.transport.requests.AuthorizedSession(made).get(URL + "/me").json()["who"]\n'
        + "assert made.valid\n"
        + "return answer",
    ),
    (
        "google-auth, id token",
        "google.auth",
        GOOGLE
        + "made = service_account.IDTokenCredentials.from_service_account_info(info, target_audience=HEADER)\n"
        + 'answer = google.auth.transport.requests.AuthorizedSession(made).get(URL + "/me").json()["who"]\n'
        + "assert made.valid\n"
        + "return answer",
    ),
    ("msal", "msal", MSAL + f'return session.get(URL + "/me", {ME}).json()["who"]'),
    (
        "authlib",
        "authlib",
        "from authlib.integrations.requests_client import OAuth2Session\n"
        f"session = OAuth2Session(who, {SECRET!r}, scope=HEADER)\n"
        'found = session.fetch_token(URL + "/token", grant_type="client_credentials")\n'
        "assert not found.is_expired()\n"
        'return session.get(URL + "/me").json()["who"]',
    ),
    (
        "requests-oauthlib",
        "requests_oauthlib",
        'os.environ["OAUTHLIB_INSECURE_TRANSPORT"] = "1"\n'
        "from oauthlib.oauth2 import BackendApplicationClient\n"
        "session = requests_oauthlib.OAuth2Session(client=BackendApplicationClient(client_id=who, scope=HEADER))\n"
        f'session.fetch_token(URL + "/token", client_id=who, client_secret={SECRET!r})\n'
        'return session.get(URL + "/me").json()["who"]',
    ),
    (
        "httpx, tokens",
        "httpx",
        'asked = {"grant_type": "client_credentials", "scope": HEADER}\n'
        f'found = httpx.post(URL + "/token", data=asked, auth=(who, {SECRET!r})).json()\n'
        'asked = {"grant_type": "refresh_token", "refresh_token": found["refresh_token"], "client_id": "app"}\n'
        'found = httpx.post(URL + "/token", data=asked).json()\n'
        'held = httpx.post(URL + "/introspect", json={"token": found["access_token"]}).json()["who"]\n'
        f'assert held == httpx.get(URL + "/me", {ME}).json()["who"]\n'
        "return held",
    ),
    (
        "boto3, sts",
        "boto3",
        'place = {"endpoint_url": URL, "region_name": "us-east-1"}\n'
        'own = {"aws_access_key_id": "k", "aws_secret_access_key": "k"}\n'
        'asked = {"RoleArn": f"arn:aws:iam::123456789012:role/{who}", "RoleSessionName": HEADER}\n'
        'found = boto3.client("sts", **place, **own).assume_role(**asked)["Credentials"]\n'
        'assert found["Expiration"].timestamp() > time.time()\n'
        'own = {"aws_access_key_id": found["AccessKeyId"], "aws_secret_access_key": found["SecretAccessKey"]}\n'
        'sts = boto3.client("sts", **place, **own, aws_session_token=found["SessionToken"])\n'
        'return sts.get_caller_identity()["Arn"]',
    ),
)
"""The name of each, the module that it imports first, and the body of its function."""


def body_of(source: str) -> str:
    """Return the body of an agent that also works 30 days later, where `LATER` is set."""
    return NAMED + LATER + "".join(f"    {line}\n" for line in source.splitlines())


class TokenServer(BaseHTTPRequestHandler):
    """Hands out tokens, and says for whom it takes their bearers."""

    protocol_version = "HTTP/1.1"
    handed_out: ClassVar[dict[str, str]] = {}
    """The tokens of all servers, and whose each is."""

    def do_GET(self) -> None:
        """Answer."""
        self._answer({})

    def do_POST(self) -> None:
        """Answer."""
        body = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
        self._answer(json.loads(body) if body.startswith("{") else dict(parse_qsl(body)))

    def log_message(self, format: str, *args: object) -> None:
        """Be silent."""

    def _answer(self, asked: dict[str, str]) -> None:
        found = self._reply(asked)
        answer = found.encode() if isinstance(found, str) else json.dumps(found).encode()
        self.send_response(200)
        self.send_header("content-type", "text/xml" if isinstance(found, str) else "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def _reply(self, asked: dict[str, str]) -> Any:
        bearer = self.headers.get("authorization", "")
        if self.path.endswith("/openid-configuration"):
            names = {name: f"https://idp.test/{name}" for name in ("authorization_endpoint", "token")}
            return {**names, "issuer": "https://idp.test/tenant", "token_endpoint": names["token"]}
        if self.path == "/token":
            return self._tokens(asked, bearer)
        if self.path == "/introspect":
            return {"who": self.handed_out[asked["token"]]}
        if asked.get("Action") == "AssumeRole":
            return self._credentials(asked["RoleArn"])
        if asked.get("Action") == "GetCallerIdentity":
            who = self.handed_out[bearer.partition("Credential=")[2].partition("/")[0]]
            return f"<R><GetCallerIdentityResult><Arn>{who}</Arn></GetCallerIdentityResult></R>"
        return {"who": self.handed_out[bearer.removeprefix("Bearer ")]}

    def _new(self, who: str, mark: str) -> str:
        self.handed_out[token := mark + secrets.token_urlsafe(40)] = who
        return token

    def _tokens(self, asked: dict[str, str], bearer: str) -> dict[str, Any]:
        who = asked.get("client_id", "")
        if bearer.startswith("Basic "):
            who = b64decode(bearer[6:]).decode().partition(":")[0]
        if "refresh_token" in asked:
            who = self.handed_out[asked["refresh_token"]]
        claims = _claims(asked["assertion"]) if "assertion" in asked else {}
        who = claims.get("iss", who)
        if "target_audience" in claims:
            now = int(time.time())
            said = {"sub": who, "aud": claims["target_audience"], "iat": now, "exp": now + 3600, "jti": str(now)}
            header = _encoded({"alg": "RS256", "typ": "JWT"})
            self.handed_out[token := f"{header}.{_encoded(said)}.{self._new(who, '')}"] = who
            return {"id_token": token}
        found = {"access_token": self._new(who, "ya29."), "token_type": "Bearer", "expires_in": 3599}
        more = {"refresh_token": self._new(who, "1//")} if bearer or "refresh_token" in asked else {}
        return {**found, **more, "expires_on": str(int(time.time()) + 3599), "scope": asked.get("scope", "")}

    def _credentials(self, who: str) -> str:
        session = self._new(who, "Fwo")
        until = datetime.fromtimestamp(time.time() + 3600, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return (
            f"<R><AssumeRoleResult><Credentials><AccessKeyId>{self._new(who, 'ASIA')}</AccessKeyId>"
            f"<SecretAccessKey>{self._new(who, '')}</SecretAccessKey><SessionToken>{session}</SessionToken>"
            f"<Expiration>{until}</Expiration></Credentials></AssumeRoleResult></R>"
        )


def _claims(token: str) -> dict[str, str]:
    part = token.split(".")[1]
    claims: dict[str, str] = json.loads(urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    return claims


def _encoded(value: dict[str, Any]) -> str:
    return urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")
