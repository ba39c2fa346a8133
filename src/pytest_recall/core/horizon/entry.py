"""Entry: what a reply leaves of a session's text, and how the entries of a day become its file."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pytest_recall.core.horizon.layout import HEADING

FRONT = "---\ntype: daily\n---\n"
"""What each day's file begins with."""
_FENCED = re.compile(r"```[A-Za-z]*\n(.*)\n```", re.DOTALL)
_FRONT_BLOCK = re.compile(r"---\n.*?\n---\n", re.DOTALL)


def entry_of(reply: str, session: str) -> str:
    """Return the entry in a reply, empty if there is none: one without a heading is an excuse, or talk about the task.

    A fence or front matter around it goes, and so does the heading of its own session. A heading of the
    first two levels becomes one of the third, since a line like `# session: ID` would begin another session.
    """
    text = reply.replace("\r\n", "\n").replace("\r", "\n").strip()
    if fenced := _FENCED.fullmatch(text):
        text = fenced[1].strip()
    if front := _FRONT_BLOCK.match(text):
        text = text[front.end() :].strip()
    first, _, rest = text.partition("\n")
    heading = HEADING.fullmatch(first)
    if heading is not None and heading[1] == session:
        text = rest.strip()
    lines, code = [], False
    for line in text.split("\n"):
        code ^= line.startswith("```")
        above = line.startswith(("# ", "## ")) and not code
        lines.append(f"### {line.lstrip('#').lstrip()}" if above or HEADING.fullmatch(line) else line)
    return "\n".join(lines).strip() if any(line.startswith("### ") for line in lines) else ""


def day_text(entries: Mapping[str, str]) -> str:
    """Return the text of a day's file from what is said in each session; `sessions_in` finds the same again."""
    return FRONT + "".join(f"\n# session: {session}\n\n{entry}\n" for session, entry in entries.items())
