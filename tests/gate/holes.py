"""Changes that break cases and try to pass for ones that do not, and changes without effect that try the opposite."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.gate.model import VARIANT_B, Mode
from tests.gate.project import (
    AGENT,
    BREAKS_THREE,
    BROKEN,
    CALLED,
    CALLER,
    CASES,
    CONFTEST,
    NOTES,
    PROMPT,
    RUBRIC,
    Change,
    Removed,
    Replaced,
    Written,
    case_id,
    prompt_ends,
)

COUNT = 12
ALL = frozenset(map(case_id, range(1, COUNT + 1)))
NONE: frozenset[str] = frozenset()
UNMATCHED = "a replay does not compare this part of a request, and failures of cases that it affects do not block"
BEHIND = "a replay does not see what lies behind an equal request"
LEFT_OUT = "cases of the base that a change keeps from being collected count as not affected"
OWN_JUDGE_DECIDES = "a judge of one's own that a change makes laxer decides on that change"
NOT_ASKED = "an answer from a cache, for which nothing is asked, is a verdict"
OWN_WORKFLOW = "a workflow that a change alters is run as the change has it"
VARIANT_A = "variant-a"


@dataclass(frozen=True)
class Hole:
    """A change, and the cases that it breaks.

    The project begins with `setup`, and is recorded; then `merged` is merged without another recording. A pull request
    makes the `change`, and is checked while the model is in `mode`.

    - `says`: what people have to be able to read, where a change may be green by design;
    - `package`: a folder that is installed, copied to where all processes import from;
    - `recorded_on`: the developer records the change, while the model is in this mode, and commits that;
    - `recorded_as`: the same with a text in the recordings that is edited;
    - `cache`: answers outlive the jobs in a file, which had all of them when the cases were recorded;
    - `ends_early`: nothing is left to run, and the check is red for that;
    - `fresh`: the processes are new ones of the installation, as the test is about what they import;
    - `quick`: it is tried in each run of the tests;
    - `known`: why a green check is expected for now.
    """

    name: str
    change: tuple[Change, ...]
    broken: frozenset[str] = BROKEN
    setup: tuple[Change, ...] = ()
    merged: tuple[Change, ...] = ()
    says: str = ""
    mode: Mode = field(default_factory=Mode)
    variables: Mapping[str, str] = field(default_factory=dict)
    package: str = ""
    recorded_on: Mode | None = None
    recorded_as: tuple[str, str] = ("", "")
    cache: bool = False
    ends_early: bool = False
    fresh: bool = False
    quick: bool = False
    known: str = ""


SAYS_3_DAYS = Replaced(PROMPT, "30 days", "3 days")
TO_VARIANT_B = Replaced(AGENT, VARIANT_A, VARIANT_B)


def with_header(name: str, value: str = VARIANT_A) -> Replaced:
    """Return a change that has the agent send another header."""
    return Replaced(AGENT, "    body = {", f'    headers["{name}"] = "{value}"\n    body = {{')


def with_field(text: str) -> Replaced:
    """Return a change that has the agent send another field in the body."""
    return Replaced(AGENT, "**more}", f"{text}, **more}}")


def with_variable(line: str) -> Replaced:
    """Return a change that gives the job which runs the cases another variable."""
    known = "      DIRECTORY: ${{ inputs.directory }}\n"
    return Replaced(CALLED, f"{known}    steps:", f"{known}      {line}\n    steps:")


# Where the part that differs stands in a request

IN_A_FILE = (
    Written("src/desk/settings.json", '{"plan": "variant-a", "timeout": 20}\n'),
    Replaced(AGENT, "import os\n", "import json\nimport os\nimport pathlib\n"),
    Replaced(
        AGENT,
        'MODEL = "m-1"',
        'MODEL = "m-1"\nSETTINGS = json.loads(pathlib.Path(__file__).with_name("settings.json").read_text())',
    ),
)
FILE_TO_VARIANT_B = Replaced("src/desk/settings.json", VARIANT_A, VARIANT_B)
HEADER_FROM_FILE = Replaced(AGENT, "    body = {", '    headers["x-variant"] = SETTINGS["plan"]\n    body = {')

REQUESTS = [
    Hole("header", (TO_VARIANT_B,), setup=(with_header("x-variant"),), quick=True, known=UNMATCHED),
    Hole("header-in-a-data-file", (FILE_TO_VARIANT_B,), setup=(*IN_A_FILE, HEADER_FROM_FILE), known=UNMATCHED),
    Hole("header-is-new", (with_header("x-variant", VARIANT_B),), known=UNMATCHED),
    Hole("accept-language", (TO_VARIANT_B,), setup=(with_header("accept-language"),)),
    Hole("user-agent", (TO_VARIANT_B,), setup=(with_header("user-agent"),), known=UNMATCHED),
    Hole("organization", (TO_VARIANT_B,), setup=(with_header("openai-organization"),), known=UNMATCHED),
    Hole("cookie", (TO_VARIANT_B,), setup=(with_header("cookie", "plan=variant-a"),), known=UNMATCHED),
    Hole(
        "base-url",
        (TO_VARIANT_B,),
        setup=(Replaced(AGENT, '"/v1/chat', '"/variant-a/v1/chat'),),
    ),
    Hole("query", (TO_VARIANT_B,), setup=(Replaced(AGENT, "completions", "completions?plan=variant-a"),)),
    Hole(
        "query-that-looks-secret",
        (TO_VARIANT_B,),
        setup=(Replaced(AGENT, "completions", "completions?key=variant-a"),),
        known=UNMATCHED,
    ),
    Hole("metadata", (TO_VARIANT_B,), setup=(with_field('"metadata": {"plan": "variant-a"}'),), known=UNMATCHED),
    Hole("user-field", (TO_VARIANT_B,), setup=(with_field('"user": "variant-a"'),), known=UNMATCHED),
    Hole("api-key-field", (TO_VARIANT_B,), setup=(with_field('"api_key": "variant-a"'),)),
    Hole("model", (Replaced(AGENT, '"m-1"', '"m-1-variant-b"'),)),
    Hole("temperature", (Replaced(AGENT, "**more}", '"temperature": 1.9, **more}'),), ALL),
    Hole("empty-line-at-the-end", (prompt_ends(r"Be kind.\n\n"),), ALL),
    Hole(
        "gzip-body",
        (SAYS_3_DAYS,),
        ALL,
        setup=(
            Replaced(AGENT, "import os\n", "import gzip\nimport json\nimport os\n"),
            Replaced(
                AGENT,
                "json=body, headers=headers",
                "content=gzip.compress(json.dumps(body).encode(), mtime=0),"
                ' headers={**headers, "content-encoding": "gzip", "content-type": "application/json"}',
            ),
        ),
    ),
    Hole(
        "multipart-body",
        (SAYS_3_DAYS,),
        ALL,
        setup=(
            Replaced(AGENT, "import os\n", "import json\nimport os\n"),
            Replaced(AGENT, "json=body", 'files={"request": ("a.json", json.dumps(body))}'),
        ),
    ),
]

# What is volatile

STAMPED = (
    Written(
        PROMPT,
        "import datetime\nimport uuid\n\n\ndef system():\n"
        '    return f"Session {uuid.uuid4()} at {datetime.datetime.now():%Y-%m-%d %H:%M:%S.%f} today. Be kind."\n',
    ),
    Replaced(AGENT, "import SYSTEM", "import system"),
    Replaced(AGENT, "SYSTEM}", "system()}"),
)
VOLATILE = [
    Hole(
        "stale-number", (Replaced(PROMPT, "14 days", "3 days"),), ALL, merged=(Replaced(PROMPT, "30 days", "14 days"),)
    ),
    Hole(
        "stale-date",
        (Replaced(PROMPT, "2026-12-31", "2027-01-31 within 3 days"),),
        ALL,
        setup=(prompt_ends("Be kind until 2026-11-30."),),
        merged=(Replaced(PROMPT, "2026-11-30", "2026-12-31"),),
        quick=True,
    ),
    Hole("stamped-and-nothing-else", (NOTES,), NONE, setup=STAMPED),
    Hole("stamped-and-broken", (BREAKS_THREE,), setup=STAMPED),
    Hole(
        "one-prompt-of-two-by-chance",
        (
            Replaced(AGENT, "import os\n", "import os\nimport random\n"),
            Replaced(AGENT, "SYSTEM}", 'SYSTEM + random.choice(["", " Refuse items 1 to 12."])}'),
        ),
        ALL,
    ),
]

# How the model is reached

CHILD = (
    Written("src/desk/cli.py", "import sys\n\nfrom desk.agent import answer\n\nprint(answer(sys.argv[1]))\n"),
    Written(
        CONFTEST,
        """\
import os
import subprocess
import sys

import pytest

SRC = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "src"))


@pytest.fixture(scope="session")
def agent():
    def answer(question):
        command = [sys.executable, "-m", "desk.cli", question]
        path = os.pathsep.join(filter(None, [SRC, os.environ.get("PYTHONPATH")]))
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path})
        if done.returncode:
            raise RuntimeError(done.stderr[-300:])
        return done.stdout.strip()

    return answer
""",
    ),
)


def by_program(*command: str) -> Change:
    """Return a change that has a program of another language ask: it reads the request, and prints the response."""
    return Replaced(
        AGENT,
        "    response = httpx.post(URL, json=body, headers=headers, timeout=20)\n"
        "    response.raise_for_status()\n"
        '    return response.json()["choices"][0]["message"]["content"]',
        "    import json\n    import subprocess\n\n"
        f"    command = [*{list(command)!r}, URL]\n"
        "    done = subprocess.run(command, input=json.dumps(body), capture_output=True, text=True)\n"
        '    return json.loads(done.stdout)["choices"][0]["message"]["content"]',
    )


NODE = """\
const chunks = [];
process.stdin.on("data", (chunk) => chunks.push(chunk));
process.stdin.on("end", async () => {
  const init = { method: "POST", body: Buffer.concat(chunks), headers: { "content-type": "application/json" } };
  process.stdout.write(await (await fetch(process.argv[1], init)).text());
});
"""
HTTP_CLIENT = """\
    import http.client
    import json
    from urllib.parse import urlsplit

    connection = http.client.HTTPConnection(urlsplit(URL).netloc)
    connection.request("POST", urlsplit(URL).path, json.dumps(body), {"content-type": "application/json"})
    return json.loads(connection.getresponse().read())["choices"][0]["message"]["content"]"""
SOCKET = """\
    import json
    import socket
    from urllib.parse import urlsplit

    address = urlsplit(URL)
    data = json.dumps(body).encode()
    line = socket.create_connection((address.hostname, address.port))
    head = [f"POST {address.path} HTTP/1.1", "host: x", "connection: close", f"content-length: {len(data)}", "", ""]
    line.sendall("\\r\\n".join(head).encode() + data)
    read = b""
    while b"usage" not in read:
        read += line.recv(65536)
    return json.loads(read.split(b"\\r\\n\\r\\n", 1)[1])["choices"][0]["message"]["content"]"""
_POST = (
    "    response = httpx.post(URL, json=body, headers=headers, timeout=20)\n"
    "    response.raise_for_status()\n"
    '    return response.json()["choices"][0]["message"]["content"]'
)
ODD_ONES_BY_A_CHILD = (
    Written("src/desk/cli.py", "import sys\n\nfrom desk.agent import direct\n\nprint(direct(sys.argv[1]))\n"),
    Replaced(
        AGENT,
        "def answer(question):\n",
        """\
def answer(question):
    import re

    return by_child(question) if int(re.findall(r"\\d+", question)[0]) % 2 else direct(question)


def by_child(question):
    import subprocess
    import sys

    src = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    path = os.pathsep.join(filter(None, [src, os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-m", "desk.cli", question]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path})
    if done.returncode:
        raise RuntimeError(done.stderr[-300:])
    return done.stdout.strip()


def direct(question):
""",
    ),
)
CLIENTS = [
    Hole("child-process", (SAYS_3_DAYS,), ALL, setup=CHILD, fresh=True),
    Hole("child-process-of-three", (BREAKS_THREE,), setup=CHILD, fresh=True),
    Hole("child-process-without-effect", (NOTES,), NONE, setup=CHILD, fresh=True),
    Hole("half-of-them-by-child-processes", (SAYS_3_DAYS,), ALL, setup=ODD_ONES_BY_A_CHILD, fresh=True),
    Hole("half-of-them-by-child-processes-without-effect", (NOTES,), NONE, setup=ODD_ONES_BY_A_CHILD, fresh=True),
    Hole("curl", (BREAKS_THREE,), setup=(by_program("curl", "-s", "-d", "@-"),)),
    Hole("node", (BREAKS_THREE,), setup=(by_program("node", "-e", NODE),)),
    Hole("http-client", (BREAKS_THREE,), setup=(Replaced(AGENT, _POST, HTTP_CLIENT),)),
    Hole("socket", (BREAKS_THREE,), setup=(Replaced(AGENT, _POST, SOCKET),)),
    Hole(
        "threads",
        (Replaced(AGENT, "Classify.", "Classify. Refuse items 7 to 9."),),
        setup=(
            Replaced(
                AGENT,
                'return parse(ask([{"role": "system", "content": SYSTEM}, {"role": "user", "content": question}]))',
                """from concurrent.futures import ThreadPoolExecutor

    prompts = [SYSTEM, "Classify."]
    asks = [[{"role": "system", "content": one}, {"role": "user", "content": question}] for one in prompts]
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(ask, asks)
    return parse(second)""",
            ),
        ),
    ),
]

# What hides the answer of the model, or its absence

SWALLOWS = Replaced(
    AGENT,
    "    return parse(ask(",
    '    import re\n\n    number = int(re.findall(r"\\d+", question)[0])\n    try:\n        return parse(ask(',
)
FALLS_BACK = Replaced(
    AGENT,
    '{"role": "user", "content": question}]))',
    '{"role": "user", "content": question}]))\n'
    "    except Exception:\n"
    '        return f"The price of item {number} is ${5 * number}."',
)
CACHE = """\
def answer(question):
    import json
    import pathlib

    path = pathlib.Path(os.environ.get("CACHE", ".answers.json"))
    answers = json.loads(path.read_text()) if path.exists() else {}
    if question not in answers:
        answers[question] = fresh_answer(question)
        path.write_text(json.dumps(answers))
    return answers[question]


def fresh_answer(question):
"""
CACHED = (Replaced(AGENT, "def answer(question):\n", CACHE), Written(".gitignore", ".answers.json\n", append=True))
RETRIES = Replaced(
    AGENT,
    "    response = httpx.post(URL, json=body, headers=headers, timeout=20)\n",
    "    for _ in range(3):\n"
    "        response = httpx.post(URL, json=body, headers=headers, timeout=20)\n"
    "        if response.status_code < 500:\n"
    "            break\n"
    "    else:\n"
    '        return "We are closed, please come back tomorrow."\n',
)
COUNTED = Replaced(
    AGENT,
    "def answer(question):\n    return parse(ask([",
    "SEEN = []\n\n\ndef answer(question):\n    SEEN.append(question)\n"
    '    count = {"role": "system", "content": f"You have answered {len(SEEN) - 1} questions before."}\n'
    "    return parse(ask([count, ",
)
HIDDEN = [
    Hole("swallowed-error-with-a-fallback", (BREAKS_THREE,), setup=(SWALLOWS, FALLS_BACK)),
    Hole("fallback-is-new", (BREAKS_THREE, SWALLOWS, FALLS_BACK), quick=True),
    Hole("cache-in-the-checkout", (BREAKS_THREE,), setup=CACHED),
    Hole(
        "cache-of-a-runner",
        (BREAKS_THREE,),
        setup=CACHED,
        cache=True,
        known=NOT_ASKED,
    ),
    Hole("retries-hide-503", (BREAKS_THREE,), setup=(RETRIES,), mode=Mode(status=503), quick=True),
    Hole("retries-are-new-and-hide-503", (BREAKS_THREE, RETRIES), mode=Mode(status=503)),
    Hole("count-in-the-prompt-without-effect", (NOTES,), NONE, setup=(COUNTED,)),
    Hole(
        "count-in-the-prompt",
        (Replaced(AGENT, "questions before.", "questions. Refuse items 7 to 9."),),
        setup=(COUNTED,),
    ),
    Hole(
        "timeout",
        (Replaced(AGENT, "timeout=20", "timeout=0.05"),),
        ALL,
        mode=Mode(delay=0.2),
    ),
    Hole(
        "timeout-in-a-data-file",
        (Replaced("src/desk/settings.json", '"timeout": 20', '"timeout": 0.05'),),
        ALL,
        setup=(*IN_A_FILE, Replaced(AGENT, "timeout=20", 'timeout=SETTINGS["timeout"]')),
        mode=Mode(delay=0.2),
        known=BEHIND,
    ),
    Hole(
        "proxy-of-the-job",
        (with_variable("HTTP_PROXY: http://127.0.0.1:9"),),
        ALL,
        known=BEHIND,
    ),
    Hole("another-key", (Replaced(AGENT, '"OPENAI_API_KEY"', '"OPENAI_KEY"'),), ALL, mode=Mode(needs_key=True)),
    Hole(
        "another-key-in-a-data-file",
        (Replaced("src/desk/settings.json", "OPENAI_API_KEY", "OPENAI_KEY"),),
        ALL,
        setup=(
            *IN_A_FILE,
            Replaced("src/desk/settings.json", VARIANT_A, "OPENAI_API_KEY"),
            Replaced(AGENT, '"OPENAI_API_KEY"', 'SETTINGS["plan"]'),
        ),
        mode=Mode(needs_key=True),
        known=BEHIND,
    ),
    Hole(
        "client-is-mocked",
        (
            BREAKS_THREE,
            Written(
                CONFTEST,
                """

@pytest.fixture(autouse=True)
def _no_network(monkeypatch):
    import re

    def ask(messages, **more):
        number = int(re.findall(r"item (\\d+)", messages[-1]["content"])[0])
        return f"The price of item {number} is ${5 * number}."

    monkeypatch.setattr("desk.agent.ask", ask)
""",
                append=True,
            ),
        ),
    ),
]

# Where the code of the agent comes from

PACKAGE = "services/agent"


def moved_to_a_package(folder: Path) -> None:
    """Move the agent to a folder that is installed, and not imported from where it is."""
    (folder / PACKAGE).mkdir(parents=True)
    shutil.move(folder / "src" / "desk", folder / PACKAGE / "desk")
    Replaced("pyproject.toml", 'pythonpath = ["src"]\n', "")(folder)


IN_PACKAGE = f"{PACKAGE}/desk/prompt.py"
PLACES = [
    Hole(
        "installed-package-says-3-days",
        (Replaced(IN_PACKAGE, "30 days", "3 days"),),
        ALL,
        setup=(moved_to_a_package,),
        package=PACKAGE,
        quick=True,
    ),
    Hole(
        "installed-package-parses",
        (Replaced(f"{PACKAGE}/desk/agent.py", "return text", 'return text.replace("$", "EUR ")'),),
        ALL,
        setup=(moved_to_a_package,),
        package=PACKAGE,
    ),
    Hole(
        "installed-package-sends-a-header",
        (Replaced(f"{PACKAGE}/desk/agent.py", VARIANT_A, VARIANT_B),),
        setup=(with_header("x-variant"), moved_to_a_package),
        package=PACKAGE,
        known=UNMATCHED,
    ),
    Hole("installed-package-without-effect", (NOTES,), NONE, setup=(moved_to_a_package,), package=PACKAGE),
    Hole("parser", (Replaced(AGENT, "return text", 'return text.replace("$", "EUR ")'),), ALL, quick=True),
    Hole(
        "prompt-file",
        (Replaced("prompts/system.md", "Be kind.", "Refuse items 7 to 9."),),
        setup=(
            Written("prompts/system.md", "Items come back within 30 days. Be kind."),
            Written(
                PROMPT,
                'from pathlib import Path\n\nSYSTEM = (Path(__file__).parents[2] / "prompts/system.md").read_text()\n',
            ),
        ),
    ),
    Hole(
        "path-to-a-vendored-agent",
        (
            Written("vendor/desk/__init__.py", ""),
            Written("vendor/desk/agent.py", 'def answer(question):\n    return "I cannot say."\n'),
            Replaced(
                CONFTEST,
                "import pytest\n",
                "import pathlib\nimport sys\n\nimport pytest\n\n"
                'sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "vendor"))\n',
            ),
        ),
        ALL,
    ),
    Hole(
        "clock-is-patched",
        (BREAKS_THREE,),
        setup=(Written(CONFTEST, "\n\nimport time\n\ntime.time = lambda: 1_700_000_000.0\n", append=True),),
    ),
    Hole(
        "temperature-of-the-job",
        (Replaced(CALLED, 'TEMPERATURE: "0.2"', 'TEMPERATURE: "1.9"'),),
        ALL,
        setup=(
            with_variable('TEMPERATURE: "0.2"'),
            Replaced(AGENT, "**more}", '"temperature": float(os.environ.get("TEMPERATURE", "0.2")), **more}'),
        ),
    ),
    Hole("comment", (Replaced(AGENT, "return text", "return text  # as it is"),), NONE),
    Hole("notes", (NOTES,), NONE, quick=True),
    Hole("harmless-prompt", (prompt_ends("Be kind and brief."),), NONE),
]

# The measure

OWN_JUDGE = (
    Written(
        CONFTEST,
        "\n\n@pytest.fixture\ndef judge_own():\n"
        '    return lambda answer, case: (case.expected in answer.text, "is not in it")\n',
        append=True,
    ),
    Replaced(CASES, '["contains"]', '["own"]'),
)
ADDOPTS = 'pythonpath = ["src"]\n'


def with_options(options: str) -> Replaced:
    """Return a change that gives pytest more options."""
    return Replaced("pyproject.toml", ADDOPTS, f"{ADDOPTS}addopts = '''{options}'''\n")


def case_removed(folder: Path) -> None:
    """Delete the cases that the change breaks."""
    path = folder / CASES
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(line for line in lines if not any(one in line for one in BROKEN)), encoding="utf-8")


def expectations_loosened(folder: Path) -> None:
    """Expect nothing of the cases that the change breaks."""
    for item in (7, 8, 9):
        Replaced(CASES, f'"expected": "${item * 5}"', '"expected": "I"')(folder)


def questions_altered(folder: Path) -> None:
    """Ask something easier in the cases that the change breaks."""
    for item in (7, 8, 9):
        Replaced(
            CASES,
            f'"input": "What does item {item} cost?", "expected": "${item * 5}"',
            '"input": "What does item 1 cost?", "expected": "$5"',
        )(folder)


MEASURES = [
    Hole(
        "stricter-judge",
        (Replaced(CONFTEST, "case.expected in answer.text", "case.expected == answer.text"),),
        ALL,
        setup=OWN_JUDGE,
    ),
    Hole(
        "laxer-judge",
        (BREAKS_THREE, Replaced(CONFTEST, "case.expected in answer.text", "True")),
        setup=OWN_JUDGE,
        known=OWN_JUDGE_DECIDES,
    ),
    Hole("loosened-expectations", (BREAKS_THREE, expectations_loosened), says="expected answer altered"),
    Hole("deleted-cases", (BREAKS_THREE, case_removed), says="missing"),
    Hole("no-cases", (BREAKS_THREE, Removed((CASES,))), ends_early=True),
    Hole("other-questions", (BREAKS_THREE, questions_altered), says="input and expected answer altered"),
    Hole(
        "recording-that-is-edited",
        (BREAKS_THREE,),
        recorded_as=("I cannot say.", "The price is $35, $40 or $45."),
        ends_early=True,
    ),
    Hole(
        "recording-of-a-lucky-day",
        (BREAKS_THREE,),
        says="recordings that the change itself brought",
        recorded_on=Mode(lucky=True),
    ),
    Hole(
        "judges-loosened",
        (BREAKS_THREE, Replaced(CASES, '"judges": ["contains"]', '"judges": [{"contains": "I"}]')),
        says="judges altered",
    ),
    Hole(
        "skip-in-the-fixture",
        (
            BREAKS_THREE,
            Replaced(CONFTEST, "def agent():\n", 'def agent():\n    pytest.skip("the service is down")\n'),
        ),
        quick=True,
    ),
    Hole(
        "skip-of-three",
        (
            BREAKS_THREE,
            Written(
                CONFTEST,
                "\n\n@pytest.fixture(autouse=True)\ndef _skipped(recall_case):\n"
                '    if recall_case.id in ("price-007", "price-008", "price-009"):\n        pytest.skip("flaky")\n',
                append=True,
            ),
        ),
    ),
    Hole(
        "deselected-by-options",
        (BREAKS_THREE, with_options("-k 'not price-007 and not price-008 and not price-009'")),
        known=LEFT_OUT,
    ),
    Hole(
        "deselected-by-id",
        (BREAKS_THREE, with_options("".join(f" --deselect eval/cases.jsonl::{one}" for one in sorted(BROKEN)))),
        known=LEFT_OUT,
    ),
    Hole(
        "deselected-by-the-workflow",
        (BREAKS_THREE, Replaced(CALLER, "state: always", "state: always, arguments: -k price-001")),
        known=OWN_WORKFLOW,
    ),
    Hole(
        "deselected-by-a-hook",
        (
            BREAKS_THREE,
            Written(
                CONFTEST,
                "\n\ndef pytest_collection_modifyitems(items):\n"
                '    items[:] = [one for one in items if not any(n in one.name for n in ("007", "008", "009"))]\n',
                append=True,
            ),
        ),
        known=LEFT_OUT,
    ),
    Hole("replay-by-options", (BREAKS_THREE, with_options("--replay"))),
    Hole("mode-by-options", (BREAKS_THREE, with_options("--recall-mode=nightly"))),
    Hole("no-state-by-options", (BREAKS_THREE, with_options("--recall-date=2026-11-21"))),
    Hole("base-by-options", (BREAKS_THREE, with_options("--recall-base=HEAD"))),
    Hole("rubric-blocks-never", (BREAKS_THREE, Replaced(RUBRIC, "blocks: regression", "blocks: never"))),
    Hole("rubric-ignores-the-prompt", (BREAKS_THREE, Written(RUBRIC, "volatile_text: ['You are.*']\n", append=True))),
    Hole("rubric-records-nothing", (BREAKS_THREE, Written(RUBRIC, "recording: 'off'\n", append=True))),
    Hole(
        "rubric-of-another-confirm", (BREAKS_THREE, Replaced(RUBRIC, "confirm: evidence\n", "confirm: evidence:1000\n"))
    ),
    Hole("rubric-quarantines-all", (BREAKS_THREE, Written(RUBRIC, "quarantine_lapses: 1\n", append=True))),
    Hole("budget-of-the-base", (BREAKS_THREE,), setup=(Written(RUBRIC, "budget: 0.004\n", append=True),), quick=True),
    Hole("budget-of-the-change", (BREAKS_THREE, Written(RUBRIC, "budget: 0.000001\n", append=True))),
    Hole(
        "fail-on-never",
        (BREAKS_THREE, Replaced(CALLER, "state: always", "state: always, fail-on: never")),
        known=OWN_WORKFLOW,
    ),
    Hole("rows-that-fail-already", (BREAKS_THREE, Removed(("eval/events", "eval/recall.yaml")))),
]

HOLES = [*REQUESTS, *VOLATILE, *CLIENTS, *HIDDEN, *PLACES, *MEASURES]
