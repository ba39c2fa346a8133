"""Options that cannot be combined: each rule of the table is broken by a command line that is made from it."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

import pytest

from pytest_recall.plugin import option_rules, options
from pytest_recall.plugin.option_rules import OF_PYTEST, RULES, OptionRule, refused
from pytest_recall.plugin.switch import SHORT

VALUES = {
    "baselines": "raw",
    "budget": "1",
    "dry-run-file": "found.json",
    "dry-run-ignoring": "more.json",
    "dry-run-later": "0",
    "dry-run-of": "wanted.json",
    "dry-run-requests": "requests",
    "live": "agent",
    "replay-max-age": "0",
    "-k": "a",
    "-m": "a",
}
"""The values of options that need one."""
SAID = """\
--record and --replay exclude each other; --record=missing combines the two
--recall-batch has no effect with --replay, which sends no call; leave it out
--recall-replay-max-age needs --replay
--recall-live needs --record or --replay; without them every call is live
--recall-trust-replays needs --replay or --record=missing
--recall-dry-run needs --record=missing; it shows what that would record
--recall-trust-replays has no effect with --recall-dry-run; leave it out
--budget has no effect with --recall-dry-run; leave it out
--recall-batch has no effect with --recall-dry-run; leave it out
--recall-update has no effect with --recall-dry-run; leave it out
--baselines has no effect with --recall-dry-run; leave it out
--recall-live has no effect with --recall-dry-run; leave it out
--recall-dry-run-file needs --recall-dry-run
--recall-dry-run-of needs --recall-dry-run
--recall-dry-run-requests needs --recall-dry-run
--recall-dry-run-later needs --recall-dry-run
--recall-dry-run-ignoring needs --recall-dry-run
--recall-resume and -k exclude each other; what a run asks and writes is settled as it begins; leave one of them out
--recall-resume and -m exclude each other; what a run asks and writes is settled as it begins; leave one of them out
--recall-resume and --lf exclude each other; what a run asks and writes is settled as it begins; leave one of them out
--recall-resume and --sw exclude each other; what a run asks and writes is settled as it begins; leave one of them out
--recall-resume and --recall-update exclude each other; what a run asks and writes is settled as it begins; leave one of them out
"""  # noqa: E501


def spelled(name: str) -> str:
    """Return an option as it is spelled where no setting says otherwise."""
    return f"--{name}" if name in SHORT else f"--recall-{name}"


def parsed(given: Iterable[str]) -> argparse.Namespace:
    """Return the options of a command line that gives these, as rules name them."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    options.define(parser.add_argument, spelled)
    for name, dest in OF_PYTEST.items():
        if name in VALUES:
            parser.add_argument(name, dest=dest, default="")
        else:
            parser.add_argument(name, dest=dest, action="store_true")
    return parser.parse_args([word for name in dict.fromkeys(given) for word in words(name)])


def words(name: str) -> list[str]:
    """Return the arguments that give an option of a rule."""
    return [option_rules.shown(name, spelled), *([VALUES[name]] if name in VALUES else [])]


def whole(*names: str) -> list[str]:
    """Return options with the first of those that each of them needs, unless another one is there."""
    found = list(names)
    for name in found:
        for rule in RULES:
            there = {*found, *(one.partition("=")[0] for one in found)}
            if rule.option == name and rule.relation == "needs" and not there.intersection(rule.others):
                found.append(rule.others[0])
    return found


def broken(rule: OptionRule) -> list[list[str]]:
    """Return the options of each command line that breaks a rule, and no other one."""
    if rule.relation == "needs":
        return [[rule.option]]
    return [whole(other, rule.option) for other in rule.others]


BROKEN = [given for rule in RULES for given in broken(rule)]


@pytest.mark.parametrize(
    ("given", "said"), [*zip(BROKEN, SAID.splitlines(), strict=True)], ids=[*map(" ".join, BROKEN)]
)
def test_each_rule_has_its_sentence(given: list[str], said: str) -> None:
    assert refused(parsed(given), spelled) == said


@pytest.mark.parametrize("name", sorted({name for rule in RULES for name in (rule.option, *rule.others)}))
def test_an_option_alone_or_with_what_it_needs_is_allowed(name: str) -> None:
    assert refused(parsed(whole(name)), spelled) == ""
