"""Which options cannot be combined: a table, and the sentence about a command line that breaks a rule of it.

The table has what the command line alone decides. What takes knowledge of more is refused where that is known:

- `--recall-batch` while a debugger or `--setup-show` has cases run one by one: only if there are case files, and the
  fixtures of this pytest decide as well (`plugin/overlap.py`);
- `--recall-batch` with one case at once: the number may be that of an ini setting (`options.concurrency`);
- `--baselines`, `--scenarios`, `--dimensions`, `--recall-shard` without a case, and `--count` of pytest-repeat with
  one: cases are found first (`plugin/start.py`, `plugin/marks.py`);
- `--memory` beside a fixture `memory`, and `--recall-memory-reset` of a memory that is empty: fixtures are collected,
  and the memory is made first (`plugin/memories.py`);
- `--judge` where no case asks a model to judge: the same (`plugin/judging.py`);
- `--recall-resume` with a date, a mode, a seed and the like: only if the run that is resumed had another one, and node
  ids are no option (`plugin/portion.py`).

What is wrong with the value of one option is told where that is read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

OF_PYTEST = {"-k": "keyword", "-m": "markexpr", "--lf": "lf", "--sw": "stepwise"}
"""Options of pytest that rules are about, each with the name of its value."""


class OptionRule(NamedTuple):
    """What an option needs, or cannot be given with.

    An option is written without its prefix, as `record`, or `record=missing` with that value, or as in `OF_PYTEST`.
    """

    option: str
    relation: Literal["needs", "has no effect with", "excludes"]
    others: tuple[str, ...]
    """Of these it needs one; or none of them may be given."""
    why: str = ""
    """The reason or the remedy."""

    def sentence(self, others: str, spelled: Callable[[str], str]) -> str:
        """Return what is wrong with a command line that has the option and `others`, or lacks them."""
        option = shown(self.option, spelled)
        why = self.why.format(record=spelled("record"))
        if self.relation == "needs":
            return f"{option} needs {others}" + (f"; {why}" if why else "")
        if self.relation == "excludes":
            return f"{option} and {others} exclude each other; {why}"
        return f"{option} has no effect with {others}" + (f", {why}" if why else "") + "; leave it out"


_SETTLED = "what a run asks and writes is settled as it begins; leave one of them out"
RULES = (
    OptionRule("record", "excludes", ("replay",), "{record}=missing combines the two"),
    OptionRule("batch", "has no effect with", ("replay",), "which sends no call"),
    OptionRule("replay-max-age", "needs", ("replay",)),
    OptionRule("live", "needs", ("record", "replay"), "without them every call is live"),
    OptionRule("trust-replays", "needs", ("replay", "record=missing")),
    OptionRule("dry-run", "needs", ("record=missing",), "it shows what that would record"),
    *(
        OptionRule(name, "has no effect with", ("dry-run",))
        for name in ("trust-replays", "budget", "batch", "update", "baselines", "live")
    ),
    *(OptionRule(f"dry-run-{name}", "needs", ("dry-run",)) for name in ("file", "of", "requests", "later", "ignoring")),
    OptionRule("resume", "excludes", (*OF_PYTEST, "update"), _SETTLED),
)


def shown(name: str, spelled: Callable[[str], str]) -> str:
    """Return an option of a rule as it is written on a command line."""
    option, equals, value = name.partition("=")
    return name if name in OF_PYTEST else f"{spelled(option)}{equals}{value}"


def is_given(option: Any, name: str) -> bool:
    """Whether an option of a rule is among the parsed ones, with its value if it has one."""
    if name in OF_PYTEST:
        return bool(getattr(option, OF_PYTEST[name], None))
    bare, _, form = name.partition("=")
    value = getattr(option, f"recall_{bare.replace('-', '_')}")
    return value is not None and value is not False and form in ("", str(value).partition(":")[0])


def refused(option: Any, spelled: Callable[[str], str]) -> str:
    """Return what is wrong with the options that are given, as a sentence; empty if no rule is broken."""
    for rule in RULES:
        if not is_given(option, rule.option):
            continue
        given = [shown(name, spelled) for name in rule.others if is_given(option, name)]
        if rule.relation == "needs" and not given:
            return rule.sentence(" or ".join(shown(name, spelled) for name in rule.others), spelled)
        if rule.relation != "needs" and given:
            return rule.sentence(given[0], spelled)
    return ""


def excluded_by(name: str, option: Any, spelled: Callable[[str], str]) -> list[str]:
    """Return which of the options that are given cannot be given with the option `name`."""
    others = (other for rule in RULES if rule.option == name and rule.relation == "excludes" for other in rule.others)
    return [shown(other, spelled) for other in others if is_given(option, other)]
