"""Holes that hide the answer of the model, or its absence."""

from __future__ import annotations

from tests.gate.holes.hole import ALL, BEHIND, IN_A_FILE, NONE, NOT_ASKED, VARIANT_A, Hole, with_variable
from tests.gate.model import Mode
from tests.gate.project import AGENT, BREAKS_THREE, CONFTEST, NOTES, Replaced, Written

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
        quick=True,
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
