"""Holes by the part of a request that differs, and by parts that differ anyway."""

from __future__ import annotations

from tests.gate.holes.hole import (
    ALL,
    FILE_TO_VARIANT_B,
    HEADER_FROM_FILE,
    IN_A_FILE,
    NONE,
    SAYS_3_DAYS,
    TO_VARIANT_B,
    UNMATCHED,
    Hole,
    with_field,
    with_header,
)
from tests.gate.model import VARIANT_B
from tests.gate.project import AGENT, BREAKS_THREE, NOTES, PROMPT, Replaced, Written, prompt_ends

REQUESTS = [
    Hole("header", (TO_VARIANT_B,), setup=(with_header("x-variant"),), quick=True),
    Hole("header-in-a-data-file", (FILE_TO_VARIANT_B,), setup=(*IN_A_FILE, HEADER_FROM_FILE)),
    Hole("header-is-new", (with_header("x-variant", VARIANT_B),)),
    Hole("accept-language", (TO_VARIANT_B,), setup=(with_header("accept-language"),)),
    Hole("user-agent", (TO_VARIANT_B,), setup=(with_header("user-agent"),), known=UNMATCHED),
    Hole("organization", (TO_VARIANT_B,), setup=(with_header("openai-organization"),)),
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
    Hole("metadata", (TO_VARIANT_B,), setup=(with_field('"metadata": {"plan": "variant-a"}'),)),
    Hole("user-field", (TO_VARIANT_B,), setup=(with_field('"user": "variant-a"'),)),
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
        "mostly-another-prompt",
        (
            Replaced(AGENT, "import os\n", "import os\nimport random\n"),
            Replaced(AGENT, "SYSTEM}", 'SYSTEM + " Refuse items 1 to 12." * (random.random() < 0.95)}'),
        ),
        ALL,
    ),
]
