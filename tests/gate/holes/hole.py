"""What a hole is: a change, and the cases that it breaks; and edits that several of them have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.gate.model import VARIANT_B, Mode
from tests.gate.project import AGENT, BROKEN, CALLED, PROMPT, Change, Replaced, Written, case_id

COUNT = 12
ALL = frozenset(map(case_id, range(1, COUNT + 1)))
NONE: frozenset[str] = frozenset()
UNMATCHED = "a replay does not compare this part of a request, and failures of cases that it affects do not block"
BEHIND = "a replay does not see what lies behind an equal request"
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
