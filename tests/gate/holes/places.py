"""Holes by the place from which the code of the agent and its settings come."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.gate.holes.hole import ALL, NONE, VARIANT_A, Hole, with_header, with_variable
from tests.gate.model import VARIANT_B, Mode
from tests.gate.project import AGENT, BREAKS_THREE, CALLED, CONFTEST, NOTES, PROMPT, Replaced, Written, prompt_ends

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
    ),
    Hole(
        "installed-package-gives-up-sooner",
        (Replaced(f"{PACKAGE}/desk/agent.py", "timeout=20", "timeout=0.05"),),
        ALL,
        setup=(moved_to_a_package,),
        package=PACKAGE,
        mode=Mode(delay=0.2),
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
