"""Take the pictures of `recall report` that the documents show, from real runs of our own eval set.

    python scripts/take-screenshots.py [FOLDER]     (default: docs/pictures)

All cases run twice in a copy, offline. Before the second time the assistant is told to answer only if more of the
question is found in the handbook, as someone might who wants fewer wrong answers: that is what the regressions are of.
Needs Chromium, and the extra `dev`.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parent.parent
CHANGE = ("_SHARE, _PLENTY = 0.6, 6.0", "_SHARE, _PLENTY = 0.7, 8.0")
RUN = ("-m", "pytest", "-q", "-p", "recall", "eval", "--replay", "--recall-mode", "all", "--recall-date")
ALONE = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")
GIT = ("git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org")
PICTURES: dict[str, dict[str, Any]] = {
    "report.png": {"viewport": {"width": 1200, "height": 1000}, "color_scheme": "light"},
    "report-dark.png": {"viewport": {"width": 1200, "height": 1000}, "color_scheme": "dark"},
}
OPEN = "report-dark.png"
"""The picture with an open case, the first of the regressions."""


def main() -> None:
    """Make the runs, and take the pictures."""
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "pictures"
    target.mkdir(parents=True, exist_ok=True)
    browser = shutil.which("chromium")
    if browser is None:
        sys.exit("take-screenshots.py: no Chromium; on Debian: apt-get install chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page = made(Path(folder, "tool-library")).as_uri()
        chromium = playwright.chromium.launch(executable_path=browser, args=ALONE)
        for name, options in PICTURES.items():
            context = chromium.new_context(**options)
            opened = context.new_page()
            opened.goto(page)
            opened.wait_for_selector("html[data-ready]")
            opened.wait_for_selector("figure svg", state="attached")
            if name == OPEN:
                opened.click("#regressions article a")
            opened.screenshot(path=target / name)
            context.close()
        chromium.close()


def made(folder: Path) -> Path:
    """Run all cases before and after the change in a copy in `folder`; return the page of the second run."""
    shutil.copytree(ROOT / "eval", folder / "eval", ignore=shutil.ignore_patterns("_artifacts", "__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    for command in (("init", "-q", "-b", "fewer-wrong-answers"), ("add", "-A"), ("commit", "-qm", "Our eval set")):
        subprocess.run([*GIT, *command], cwd=folder, check=True)
    run(folder, *RUN, "2026-11-21")
    assistant = folder / "eval" / "assistant.py"
    text = assistant.read_text(encoding="utf-8")
    if CHANGE[0] not in text:
        sys.exit(f"take-screenshots.py: eval/assistant.py has no line `{CHANGE[0]}` any more; change this script")
    assistant.write_text(text.replace(*CHANGE), encoding="utf-8")
    run(folder, *RUN, "2026-11-22")
    run(folder, "-m", "pytest_recall", "report", "-o", "report.html", "--date", "2026-11-22")
    return folder / "report.html"


def run(folder: Path, *arguments: str) -> None:
    """Run Python in `folder`; pytest's 1 says that cases fail."""
    done = subprocess.run([sys.executable, *arguments], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode > 1:
        sys.exit(done.stdout + done.stderr)
    print(done.stdout.strip().splitlines()[-1])


if __name__ == "__main__":
    main()
