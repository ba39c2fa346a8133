#!/usr/bin/env python3
"""Record and replay an agent by each HTTP client, in fresh processes whose first import is that client.

    scripts/check-clients.py                    the clients that are installed
    scripts/check-clients.py --all              all of them; one that is missing is an error
    scripts/check-clients.py litellm cohere     these

Each is recorded from a server on loopback. Then what listens there only counts connections, of which there may be none:
the agent is replayed alone and with two workers, and once each with another prompt and another header, which has to be
a visible miss. Clients that cannot be recorded are named by a recording, and refused by a replay before anything
reaches the server, unless the rubric allows the client or ignores the host; nor is the program of an SDK started.
Clients that fetch tokens are also replayed 30 days later, and no file may hold a token. `--plugins` replays one agent
beside plugins of pytest instead: nothing may reach the server, neither by another prompt nor by a bare socket.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from eval_runs import JsonHandler, environment, last_line, serving, serving_mcp
from token_clients import SECRET, TOKEN_CLIENTS, TokenServer, body_of

CASES = """\
- {id: one, scenario: s, dimension: d, input: one, judges: [{contains: one}]}
- {id: two, scenario: s, dimension: d, input: two, judges: [{contains: two}]}
"""
CONFTEST = """\
import MODULE

import os

import pytest

URL = os.environ["UPSTREAM"]
PROMPT = os.environ.get("PROMPT", "Repeat: ")
HEADER = os.environ.get("HEADER", "first")


def ask(question):
    prompt = PROMPT + question
BODY

@pytest.fixture
def agent():
    return ask
"""
RAW = '{"model": "m", "messages": [{"role": "user", "content": prompt}]}'
CHAT = '["choices"][0]["message"]["content"]'

TORNADO = """\
import asyncio, json
async def call():
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": prompt}]})
    sent = dict(method="POST", body=body, headers={"prefer": HEADER})
    answer = await CLIENT().fetch(URL + "/v1/chat/completions", **sent)
    return json.loads(answer.body)["choices"][0]["message"]["content"]
return asyncio.run(call())
"""
IN_THREADS = """\
import asyncio, threading
from concurrent.futures import ThreadPoolExecutor
import httpx
def call(way):
    message = {"role": "user", "content": f"{prompt} {way}"}
    body = {"model": "m", "messages": [message]}
    answer = httpx.post(URL + "/v1/chat/completions", json=body, headers={"prefer": HEADER})
    return answer.json()["choices"][0]["message"]["content"]
answers = []
thread = threading.Thread(target=lambda: answers.append(call("thread")))
thread.start()
thread.join()
with ThreadPoolExecutor(2) as pool:
    answers += pool.map(call, ["executor", "pool"])
answers.append(asyncio.run(asyncio.to_thread(call, "to_thread")))
assert len(answers) == 4
return " ".join(answers)
"""
MCP = """\
import asyncio
import httpx2
from mcp.client.streamable_http import streamable_http_client
async def call():
    async with httpx2.AsyncClient(headers={"prefer": HEADER}) as http:
        transport = streamable_http_client(URL + "/mcp", http_client=http)
        async with mcp.Client(transport, mode="MODE") as client:
            found = await client.call_tool("echo", {"text": prompt})
            return found.content[0].text
return asyncio.run(call())
"""
MCP_OF_TWO = """\
import asyncio
import httpx2
from mcp.client.streamable_http import streamable_http_client
async def call(user):
    async with httpx2.AsyncClient(headers={"prefer": HEADER, "x-user": user}) as http:
        transport = streamable_http_client(URL + "/mcp", http_client=http)
        async with mcp.Client(transport, mode="legacy") as client:
            found = [await client.call_tool("echo", {"text": f"{prompt} {user} {number}"}) for number in range(2)]
            return " ".join(one.content[0].text for one in found)
async def both():
    return await asyncio.gather(call("alice"), call("bob"))
answers = asyncio.run(both())
assert answers == [f"{prompt} {user} 0 {prompt} {user} 1" for user in ("alice", "bob")], answers
return " ".join(answers)
"""


@dataclass(frozen=True)
class Client:
    """How an agent asks by one client: the module that it imports first, and the body of its function.

    `unrecorded` is the name by which messages call a client that cannot be recorded. What is asked in another order
    each time is replayed several `times`.
    """

    name: str
    module: str
    body: str
    unrecorded: str = ""
    times: int = 1


CLIENTS = (
    Client(
        "requests",
        "requests",
        f'return requests.post(URL + "/v1/chat/completions", json={RAW}, headers={{"prefer": HEADER}}).json(){CHAT}',
    ),
    Client(
        "urllib3",
        "urllib3",
        "import json\n"
        f'answer = urllib3.request("POST", URL + "/v1/chat/completions", json={RAW}, headers={{"prefer": HEADER}})\n'
        f"return answer.json(){CHAT}",
    ),
    Client(
        "aiohttp",
        "aiohttp",
        "async def call():\n"
        "    async with aiohttp.ClientSession(headers={'prefer': HEADER}) as session:\n"
        f'        async with session.post(URL + "/v1/chat/completions", json={RAW}) as answer:\n'
        f"            return (await answer.json()){CHAT}\n"
        "import asyncio\n"
        "return asyncio.run(call())",
    ),
    Client(
        "httpx",
        "httpx",
        f'return httpx.post(URL + "/v1/chat/completions", json={RAW}, headers={{"prefer": HEADER}}).json(){CHAT}',
    ),
    Client(
        "boto3",
        "boto3",
        'client = boto3.client("dynamodb", "us-east-1", endpoint_url=URL, aws_access_key_id="k",'
        ' aws_secret_access_key="k")\n'
        'call = client.describe_table if HEADER == "first" else client.delete_table\n'
        'table = call(TableName=prompt.replace(" ", "").replace(":", "-"))\n'
        'return next(iter(table.values()))["TableName"]',
    ),
    Client(
        "openai",
        "openai",
        'client = openai.OpenAI(base_url=URL + "/v1", api_key="k", max_retries=0)\n'
        'made = client.chat.completions.create(model="m", messages=[{"role": "user", "content": prompt}],'
        ' extra_headers={"openai-beta": HEADER})\n'
        "return made.choices[0].message.content",
    ),
    Client(
        "anthropic",
        "anthropic",
        'client = anthropic.Anthropic(base_url=URL, api_key="k", max_retries=0)\n'
        'made = client.messages.create(model="m", max_tokens=9, messages=[{"role": "user", "content": prompt}],'
        ' extra_headers={"anthropic-beta": HEADER})\n'
        "return made.content[0].text",
    ),
    Client(
        "google-genai",
        "google.genai",
        "from google.genai import types\n"
        'options = types.HttpOptions(base_url=URL, headers={"prefer": HEADER})\n'
        'client = google.genai.Client(api_key="k", http_options=options)\n'
        'return client.models.generate_content(model="m", contents=prompt).text',
    ),
    Client(
        "mistralai",
        "mistralai",
        "try:\n    from mistralai import Mistral\nexcept ImportError:\n    from mistralai.client import Mistral\n"
        'client = Mistral(api_key="k", server_url=URL)\n'
        'made = client.chat.complete(model="m", messages=[{"role": "user", "content": prompt}],'
        ' http_headers={"prefer": HEADER})\n'
        "return made.choices[0].message.content",
    ),
    Client(
        "cohere",
        "cohere",
        'client = cohere.ClientV2(api_key="k", base_url=URL)\n'
        'made = client.chat(model="m", messages=[{"role": "user", "content": prompt}],'
        ' request_options={"additional_headers": {"prefer": HEADER}, "max_retries": 0})\n'
        "return made.message.content[0].text",
    ),
    Client(
        "litellm",
        "litellm",
        'made = litellm.completion(model="openai/m", api_base=URL + "/v1", api_key="k", num_retries=0,'
        ' messages=[{"role": "user", "content": prompt}], extra_headers={"prefer": HEADER})\n'
        "return made.choices[0].message.content",
    ),
    Client(
        "tornado",
        "tornado.httpclient",
        TORNADO.replace("CLIENT", "tornado.httpclient.AsyncHTTPClient"),
    ),
    Client(
        "tornado, pycurl",
        "tornado.curl_httpclient",
        TORNADO.replace("CLIENT", "tornado.curl_httpclient.CurlAsyncHTTPClient"),
    ),
    Client("mcp", "mcp", MCP.replace("MODE", "auto")),
    # With an id of a session, and a stream of its own on which the server could speak.
    Client("mcp, sessions", "mcp", MCP.replace("MODE", "legacy")),
    Client("mcp, alice and bob", "mcp", MCP_OF_TWO, times=20),
    # What wraps the threads in which an agent asks.
    Client("sentry-sdk", "sentry_sdk", f"sentry_sdk.init()\n{IN_THREADS}"),
    Client(
        "opentelemetry, threads",
        "opentelemetry.instrumentation.threading",
        f"opentelemetry.instrumentation.threading.ThreadingInstrumentor().instrument()\n{IN_THREADS}",
    ),
    Client("ddtrace", "ddtrace.auto", IN_THREADS),
    # What sends metrics by datagrams, to where its package sends them by default.
    Client("statsd", "statsd", f'statsd.StatsClient().incr("asked")\n{IN_THREADS}'),
    Client("datadog", "datadog", f'datadog.statsd.increment("asked")\ndatadog.statsd.flush()\n{IN_THREADS}'),
    Client("logfire", "logfire", f"logfire.configure(send_to_logfire=False, console=False)\n{IN_THREADS}"),
    Client(
        "traceloop-sdk",
        "traceloop.sdk",
        "from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter\n"
        "traceloop.sdk.Traceloop.init(exporter=InMemorySpanExporter(), telemetry_enabled=False)\n"
        f"{IN_THREADS}",
    ),
)
UNRECORDED = (
    Client(
        "primp",
        "primp",
        f'return primp.Client().post(URL + "/v1/chat/completions", json={RAW}).json(){CHAT}',
        "primp",
    ),
    Client(
        "primp, functions",
        "primp",
        f'return primp.post(URL + "/v1/chat/completions", json={RAW}).json(){CHAT}',
        "primp",
    ),
    Client(
        "primp, async",
        "primp",
        "import asyncio\n"
        "async def call():\n"
        f'    return (await primp.AsyncClient().post(URL + "/v1/chat/completions", json={RAW})).json(){CHAT}\n'
        "return asyncio.run(call())",
        "primp",
    ),
    Client(
        "pycurl",
        "pycurl",
        "import io, json\n"
        "curl, answer = pycurl.Curl(), io.BytesIO()\n"
        'curl.setopt(pycurl.URL, URL + "/v1/chat/completions")\n'
        f"curl.setopt(pycurl.POSTFIELDS, json.dumps({RAW}))\n"
        "curl.setopt(pycurl.WRITEDATA, answer)\n"
        "assert isinstance(curl, pycurl.Curl)\n"
        "curl.perform()\n"
        f"return json.loads(answer.getvalue()){CHAT}",
        "pycurl",
    ),
    Client(
        "pycurl, multi",
        "pycurl",
        "import io, json\n"
        "curl, answer, multi = pycurl.Curl(), io.BytesIO(), pycurl.CurlMulti()\n"
        'curl.setopt(pycurl.URL, URL + "/v1/chat/completions")\n'
        f"curl.setopt(pycurl.POSTFIELDS, json.dumps({RAW}))\n"
        "curl.setopt(pycurl.WRITEDATA, answer)\n"
        "multi.add_handle(curl)\n"
        "while multi.perform()[1]:\n"
        "    multi.select(1.0)\n"
        f"return json.loads(answer.getvalue()){CHAT}",
        "pycurl",
    ),
    Client(
        "curl_cffi",
        "curl_cffi.requests",
        f'return curl_cffi.requests.post(URL + "/v1/chat/completions", json={RAW}).json(){CHAT}',
        "curl_cffi",
    ),
    Client(
        "curl_cffi, stream",
        "curl_cffi.requests",
        "import json\n"
        "with curl_cffi.requests.Session() as session:\n"
        f'    with session.stream("POST", URL + "/v1/chat/completions", json={RAW}) as answer:\n'
        f'        return json.loads(b"".join(answer.iter_content())){CHAT}',
        "curl_cffi",
    ),
    Client(
        "curl_cffi, async",
        "curl_cffi.requests",
        "import asyncio\n"
        "async def call():\n"
        "    async with curl_cffi.requests.AsyncSession() as session:\n"
        f'        return (await session.post(URL + "/v1/chat/completions", json={RAW})).json(){CHAT}\n'
        "return asyncio.run(call())",
        "curl_cffi",
    ),
    Client(
        "tls_client",
        "tls_client",
        f'return tls_client.Session().post(URL + "/v1/chat/completions", json={RAW}).json(){CHAT}',
        "tls_client",
    ),
    Client(
        "httpr",
        "httpr",
        f'return httpr.Client().post(URL + "/v1/chat/completions", json={RAW}).json(){CHAT}',
        "httpr",
    ),
    Client(
        "httpr, async",
        "httpr",
        "import asyncio\n"
        "async def call():\n"
        "    async with httpr.AsyncClient() as client:\n"
        f'        return (await client.post(URL + "/v1/chat/completions", json={RAW})).json(){CHAT}\n'
        "return asyncio.run(call())",
        "httpr",
    ),
    Client(
        "rnet",
        "rnet",
        f'return rnet.BlockingClient().post(URL + "/v1/chat/completions", json={RAW}).json(){CHAT}',
        "rnet",
    ),
    Client(
        "rnet, async",
        "rnet",
        "import asyncio\n"
        "async def call():\n"
        f'    return (await (await rnet.post(URL + "/v1/chat/completions", json={RAW})).json()){CHAT}\n'
        "return asyncio.run(call())",
        "rnet",
    ),
    Client(
        "impit",
        "impit",
        "import json\n"
        f"sent = json.dumps({RAW}).encode()\n"
        f'return impit.Client().post(URL + "/v1/chat/completions", content=sent).json(){CHAT}',
        "impit",
    ),
    Client(
        "pyreqwest",
        "pyreqwest.client",
        "with pyreqwest.client.SyncClientBuilder().build() as client:\n"
        f'    asked = client.post(URL + "/v1/chat/completions").body_json({RAW}).build()\n'
        f"    return asked.send().json(){CHAT}",
        "pyreqwest",
    ),
    Client(
        "grpc",
        "grpc",
        'with grpc.insecure_channel(URL.removeprefix("http://")) as channel:\n'
        '    return channel.unary_unary("/any.Service/Ask")(prompt.encode()).decode()',
        "grpc",
    ),
    Client(
        "grpc, future",
        "grpc",
        'with grpc.insecure_channel(URL.removeprefix("http://")) as channel:\n'
        '    return channel.unary_unary("/any.Service/Ask").future(prompt.encode()).result().decode()',
        "grpc",
    ),
    Client(
        "grpc, stream",
        "grpc",
        'with grpc.insecure_channel(URL.removeprefix("http://")) as channel:\n'
        '    return b"".join(channel.unary_stream("/any.Service/Stream")(prompt.encode())).decode()',
        "grpc",
    ),
    Client(
        "grpc, async",
        "grpc.aio",
        "import asyncio\n"
        "async def call():\n"
        '    async with grpc.aio.insecure_channel(URL.removeprefix("http://")) as channel:\n'
        '        return (await channel.unary_unary("/any.Service/Ask")(prompt.encode())).decode()\n'
        "return asyncio.run(call())",
        "grpc",
    ),
)
"""Clients that do not use Python's sockets."""
STARTING = (
    Client(
        "claude-agent-sdk",
        "claude_agent_sdk",
        "import asyncio\n"
        "async def call():\n"
        "    options = claude_agent_sdk.ClaudeAgentOptions(\n"
        '        max_turns=1, env={"ANTHROPIC_BASE_URL": URL, "ANTHROPIC_API_KEY": "k"}\n'
        "    )\n"
        "    return [str(said) async for said in claude_agent_sdk.query(prompt=prompt, options=options)][-1]\n"
        "return asyncio.run(call())",
        "claude",
    ),
    Client(
        "uvloop",
        "uvloop",
        "import asyncio\n"
        "async def call():\n"
        '    await (await asyncio.create_subprocess_exec("claude", "-p", prompt)).wait()\n'
        "return uvloop.run(call())",
        "claude",
    ),
    Client(
        "uvloop, shell",
        "uvloop",
        "import asyncio\n"
        "async def call():\n"
        '    await (await asyncio.create_subprocess_shell("claude -p hi | cat")).wait()\n'
        "return uvloop.run(call())",
        "claude",
    ),
)
"""What starts a program that asks models itself: an SDK, and a loop that tells the interpreter nothing of it."""
TOKENS = tuple(Client(name, module, body_of(body)) for name, module, body in TOKEN_CLIENTS)
"""What fetches a token first, for a client and a scope."""
MCP_SERVER = """\
import sys

from mcp.server import MCPServer

server = MCPServer("echo")


@server.tool()
def echo(text: str) -> str:
    return text


server.run("streamable-http", port=int(sys.argv[1]))
"""
ASKING_A_SOCKET = """\
if os.environ.get("SOCKET"):
    import socket
    host, port = URL.removeprefix("http://").split(":")
    body = b'{"messages": [{"content": "by a socket"}]}'
    with socket.create_connection((host, int(port))) as made:
        made.sendall(b"POST /socket HTTP/1.1\\r\\nhost: x\\r\\ncontent-length: %d\\r\\n\\r\\n" % len(body) + body)
        made.recv(100)
    return question
"""
FAILING = "- {id: lost, scenario: s, dimension: d, input: lost, judges: [{contains: found}]}\n"


@dataclass(frozen=True)
class Plugin:
    """A plugin of pytest that is installed: the options by which it does something, and what it says of a bare socket.

    One that `reruns` has a case more, which fails each time.
    """

    name: str
    options: tuple[str, ...] = ()
    refuses: str = "would open, and no socket opens in a replay"
    reruns: int = 0

    @property
    def module(self) -> str:
        """The module of the plugin."""
        return self.name.partition(",")[0].replace("-", "_")


PLUGINS = (
    Plugin("pytest-rerunfailures", ("--reruns=2",), reruns=2),
    Plugin("pytest-timeout", ("--timeout=60",)),
    Plugin("pytest-asyncio"),
    Plugin("anyio"),
    Plugin("pytest-randomly"),
    Plugin("pytest-cov", ("--cov=eval", "--cov-report=")),
    # What takes sockets away from tests puts back, at the end of each, what it takes for the original.
    Plugin("pytest-socket"),
    Plugin("pytest-socket, blocking", ("--disable-socket", "--allow-unix-socket"), refuses="SocketBlockedError"),
    Plugin("pytest-socket, allowing", ("--disable-socket", "--allow-unix-socket", "--allow-hosts=127.0.0.1")),
    Plugin("pytest-recording"),
    Plugin("pytest-recording, blocking", ("--block-network",), refuses="Network is disabled"),
    Plugin("pytest-recording, allowing", ("--block-network", "--allowed-hosts=127.0.0.1")),
    Plugin("pytest-django"),
)


class Upstream(JsonHandler):
    """Answers in the formats of the vendors, with the text of the last message."""

    asked: ClassVar[list[str]] = []
    """The paths that were asked for, of all servers."""

    def reply(self, asked: Any) -> Any:
        """Return the answer to a body."""
        self.asked.append(self.path)
        return reply(self.path, self.headers.get("x-amz-target", ""), asked)


def reply(path: str, target: str, asked: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to a request, by its path or its target."""
    if target:
        key = "Table" if target.endswith("DescribeTable") else "TableDescription"
        return {key: {"TableName": asked["TableName"], "TableStatus": "ACTIVE"}}
    if path.endswith(":generateContent"):
        text = asked["contents"][-1]["parts"][0]["text"]
        content = {"role": "model", "parts": [{"text": text}]}
        return {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}]}
    text = asked["messages"][-1]["content"]
    usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    if path.endswith("/v1/messages"):
        return {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "content": [{"type": "text", "text": text}],
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 3, "output_tokens": 2},
        }
    if path.endswith("/v2/chat"):
        message = {"role": "assistant", "content": [{"type": "text", "text": text}]}
        return {"id": "c-1", "finish_reason": "COMPLETE", "message": message}
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    return {"id": "c-1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}


@contextmanager
def serving_grpc() -> Iterator[str]:
    """Serve calls of gRPC that answer with what they are asked, and yield the URL."""
    grpc: Any = importlib.import_module("grpc")

    def echo(asked: bytes, context: Any) -> bytes:
        Upstream.asked.append("grpc")
        return asked

    def stream(asked: bytes, context: Any) -> Iterator[bytes]:
        yield echo(asked, context)

    methods = {
        "Ask": grpc.unary_unary_rpc_method_handler(echo),
        "Stream": grpc.unary_stream_rpc_method_handler(stream),
    }
    server = grpc.server(ThreadPoolExecutor(2))
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("any.Service", methods),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield f"http://127.0.0.1:{port}"
    server.stop(None).wait()


def project(folder: Path, module: str, body: str) -> None:
    """Write an eval set of two cases whose agent imports `module` first."""
    (folder / "eval").mkdir()
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "eval/rubric.yaml").write_text("owner: us\n")
    (folder / "eval/cases.yaml").write_text(CASES)
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    (folder / "eval/conftest.py").write_text(CONFTEST.replace("MODULE", module).replace("BODY", lines))


def run(folder: Path, url: str, *options: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run the set in a fresh process."""
    command = [sys.executable, "-m", "pytest", "-p", "recall", "eval", "--recall-mode=all", "-q", *options]
    kept = environment(UPSTREAM=url, **more)
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env=kept, timeout=300, check=False)


def outcome(done: subprocess.CompletedProcess[str], wanted: str, told: str = "") -> str:
    """Return "ok" if pytest ended as wanted, which is in its last line, and what it printed otherwise.

    What has to be `told` is anywhere in what it printed.
    """
    printed = f"{done.stdout}\n{done.stderr}"
    found = last_line(printed)
    if wanted in found and told in printed and "INTERNALERROR" not in printed:
        return "ok"
    return f"{found}\n{printed[-3000:]}"


def check_client(client: Client) -> dict[str, str]:
    """Return what each step came to, by its name."""
    with tempfile.TemporaryDirectory(prefix="recall-client-") as made:
        folder = Path(made)
        project(folder, client.module, client.body)
        with serving_mcp(sys.executable, MCP_SERVER) if client.module == "mcp" else serving(Upstream) as url:
            found = {"record": outcome(run(folder, url, "--record"), "2 passed")}
        if found["record"] != "ok":
            return found
        with connections(url) as count:
            replays = (outcome(run(folder, url, "--replay"), "2 passed") for _ in range(client.times))
            found["replay"] = next((one for one in replays if one != "ok"), "ok")
            found["-n 2"] = outcome(run(folder, url, "--replay", "-n2"), "2 passed")
            found["prompt"] = outcome(run(folder, url, "--replay", PROMPT="Say: "), "2 errors")
            found["header"] = outcome(run(folder, url, "--replay", HEADER="second"), "2 errors")
            if opened := count():
                found["sent"] = f"{opened} connections were opened in a replay"
        return found


@contextmanager
def connections(url: str) -> Iterator[Callable[[], int]]:
    """Listen where a server was, and yield a function that says how many connections were opened since."""
    with socket.create_server(("127.0.0.1", int(url.rpartition(":")[2])), backlog=128) as server:
        server.setblocking(False)

        def count() -> int:
            opened = 0
            with suppress(BlockingIOError):
                while True:
                    server.accept()[0].close()
                    opened += 1
            return opened

        yield count


def check_tokens(client: Client) -> dict[str, str]:
    """Return what each step came to, by its name, of what fetches tokens, which no file may hold."""
    with tempfile.TemporaryDirectory(prefix="recall-tokens-") as made:
        folder = Path(made)
        project(folder, client.module, client.body)
        with serving(TokenServer) as url:
            found = {"record": outcome(run(folder, url, "--record"), "2 passed")}
        if found["record"] != "ok":
            return found
        written = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file() and "pyc" not in path.name)
        written = written.replace((folder / "eval/conftest.py").read_bytes(), b"")
        if any(secret.encode() in written for secret in (SECRET, *TokenServer.handed_out)):
            found["secret"] = "a token or the secret of the client is in a file"
        found["replay"] = outcome(run(folder, url, "--replay"), "2 passed")
        found["30 days later"] = outcome(run(folder, url, "--replay", LATER="1"), "2 passed")
        found["client"] = outcome(run(folder, url, "--replay", PROMPT="Say: "), "2 errors")
        found["scope"] = outcome(run(folder, url, "--replay", HEADER="second"), "2 errors")
        return found


def check_unrecorded(client: Client) -> dict[str, str]:
    """Return what each step came to, by its name, of a client that cannot be recorded. The server is there in each."""
    with tempfile.TemporaryDirectory(prefix="recall-client-") as made:
        folder = Path(made)
        rubric = folder / "eval/rubric.yaml"
        project(folder, client.module, client.body)
        with serving_grpc() if client.unrecorded == "grpc" else serving(Upstream) as url:
            done = run(folder, url, "--record")
            found = {"record": outcome(done, "2 passed", f"asked by: {client.unrecorded} (2); nothing of it")}
            if found["record"] != "ok":
                return found
            before = len(Upstream.asked)
            told = f"{client.unrecorded} did not ask "
            found["replay"] = outcome(run(folder, url, "--replay"), "2 errors", told)
            found["-n 2"] = outcome(run(folder, url, "--replay", "-n2"), "2 errors", told)
            if asked := len(Upstream.asked) - before:
                found["sent"] = f"{asked} requests reached the server in a replay"
            rubric.write_text(f"owner: us\ncalls: {{'{url.removeprefix('http://')}': ignore}}\n")
            found["ignored"] = outcome(run(folder, url, "--replay"), "2 passed")
        return found


def check_starting(client: Client) -> dict[str, str]:
    """Return what each step came to, by its name, of what starts a program that a replay must not start."""
    with tempfile.TemporaryDirectory(prefix="recall-client-") as made:
        folder = Path(made)
        project(folder, client.module, client.body)
        told = f"`{client.unrecorded}` was not started"
        with serving(Upstream) as url:
            before = len(Upstream.asked)
            found = {"replay": outcome(run(folder, url, "--replay"), "2 errors", told)}
            found["-n 2"] = outcome(run(folder, url, "--replay", "-n2"), "2 errors", told)
            if asked := len(Upstream.asked) - before:
                found["sent"] = f"{asked} requests reached the server in a replay"
        return found


def check_plugin(plugin: Plugin) -> dict[str, str]:
    """Return what each step came to, by its name, of an agent beside one plugin. The server is there in each."""
    with tempfile.TemporaryDirectory(prefix="recall-plugin-") as made:
        folder = Path(made)
        body = next(client.body for client in CLIENTS if client.name == "httpx")
        project(folder, "httpx", f"{ASKING_A_SOCKET}{body}")
        settings = {}
        if plugin.name == "pytest-django":
            (folder / "settings.py").write_text("SECRET_KEY = 'x'\nINSTALLED_APPS = []\n")
            settings = {"DJANGO_SETTINGS_MODULE": "settings", "PYTHONPATH": str(folder)}
        ends, cases, recording = "2 passed", 2, tuple[str, ...]()
        if plugin.reruns:
            (folder / "eval/rubric.yaml").write_text("owner: us\nblocks: failure\n")
            (folder / "eval/cases.yaml").write_text(CASES + FAILING)
            ends, cases, recording = f"1 failed, 2 passed, {plugin.reruns} rerun", 3, plugin.options
        with serving(Upstream) as url:
            before = len(Upstream.asked)
            found = {"record": outcome(run(folder, url, "--record", *recording), ends)}
            if (asked := len(Upstream.asked) - before) != cases + plugin.reruns:
                found["recorded"] = f"{asked} requests reached the server"
            before = len(Upstream.asked)
            replay = ("--replay", *plugin.options)
            found["replay"] = outcome(run(folder, url, *replay, **settings), ends)
            found["-n 2"] = outcome(run(folder, url, *replay, "-n2", **settings), ends)
            missed = f"{cases} errors"
            found["prompt"] = outcome(run(folder, url, *replay, PROMPT="Say: ", **settings), missed, "is not recorded")
            found["socket"] = outcome(run(folder, url, *replay, SOCKET="1", **settings), missed, plugin.refuses)
            if asked := len(Upstream.asked) - before:
                found["sent"] = f"{asked} requests reached the server in a replay"
        return found


def check_of(client: Client) -> Callable[[Client], dict[str, str]]:
    """Return the function that checks such a client."""
    if client in STARTING:
        return check_starting
    if client in TOKENS:
        return check_tokens
    return check_unrecorded if client.unrecorded else check_client


def is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these")
    parser.add_argument("--all", action="store_true", help="one that is not installed is an error")
    parser.add_argument("--plugins", action="store_true", help="check plugins of pytest instead of clients")
    args = parser.parse_args()
    clients = {client.name: client for client in CLIENTS + TOKENS + UNRECORDED + STARTING}
    plugins = {plugin.name: plugin for plugin in PLUGINS}
    known = list(plugins if args.plugins else clients)
    if unknown := sorted(set(args.names) - set(known)):
        parser.error(f"{unknown[0]}: unknown; known: {', '.join(known)}")
    failed = 0
    for name in args.names or known:
        module = (plugins if args.plugins else clients)[name].module
        if not is_installed(module):
            print(f"{name:22} not installed")
            failed += args.all or name in args.names
            continue
        if args.plugins:
            found = check_plugin(plugins[name])
        else:
            found = check_of(clients[name])(clients[name])
        broken = [f"\n{name}, {step}: {result}" for step, result in found.items() if result != "ok"]
        row = "  ".join(f"{step} {result.splitlines()[0]}" for step, result in found.items())
        print(f"{name:22} {row}", flush=True)
        print("".join(broken), end="", file=sys.stderr)
        failed += bool(broken)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
