"""Report costs and estimates."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

from pytest_recall.files.sections import Section, TextTable
from pytest_recall.files.wording import budget_words, dollars, listed, one_line, percent, plural
from pytest_recall.models.prices import available
from pytest_recall.replay.budget import Balance, price_key
from pytest_recall.replay.exchange import Tokens
from pytest_recall.trials.cost import Amount, Bill, CaseCost, Estimate, Spend, together, total
from pytest_recall.trials.record import NOTHING_LET_THROUGH, LetThrough

COLUMNS = ("calls", "input", "output", "cache read", "cache write", "record", "replay", "saved")
ABSENT = "–"
UNKNOWN = "unknown"
COST_MEANING = (
    "record: every call live, at list price; replay: what is on the cassettes costs nothing, the rest is live."
)

ESTIMATED_MEANING = (
    "without a count of tokens by the vendor, counted from the text as UTF-8 bytes / 3; a stream of OpenAI states it"
    ' with `stream_options={"include_usage": True}`.'
)
PRICE_LIST = "`pip install 'pytest-recall[replay]'`"
"""What installs the list prices."""
_ADVISED = 5
"""Models whose lines are written out."""


def cost_lines(spends: Mapping[str, Spend], let_through: LetThrough = NOTHING_LET_THROUGH) -> list[str]:
    """Return what was spent and saved in one line, and in one more for each of several scenarios.

    What follows says how to name a price that is not known, and what a `~` means. What was `let_through` may have cost
    something as well.
    """
    called = _called(spends)
    if not called:
        return []
    every = total(called)
    is_all = not any(let_through)
    rest = [f"  {_name(scenario)}: {_spend_words(spend, is_all=is_all)}" for scenario, spend in called.items()]
    lines = [_spend_words(every, is_all=is_all), *(rest if len(called) > 1 else ())]
    return [*lines, *price_advice(every.recording.unknown), *_estimated_note(every)]


def let_through_words(let_through: LetThrough) -> str:
    """Return what was called that is in no cost, as one line; empty for nothing."""
    named = {
        plural(sum(let_through.calls.values()), "call"): let_through.calls,
        "connections": let_through.places,
        "programs": let_through.programs,
    }
    parts = [f"{what} ({listed(names)})" for what, names in named.items() if names]
    return f"let through by the rubric, and not counted: {', '.join(parts)}" if parts else ""


def let_through_lines(let_through: LetThrough, rubric: str) -> list[str]:
    """Return what was called that the setting `calls` has ignored, which stands at `rubric`, or `programs` let run."""
    lines, by = [], f"which `calls` of {rubric} lets through"
    if count := sum(let_through.calls.values()):
        hosts = listed(let_through.calls) if len(let_through.calls) == 1 else _by_count(let_through.calls)
        are = "is" if count == 1 else "are"
        lines.append(
            f"{plural(count, 'call')} went live to {hosts}, {by}; {'it' if count == 1 else 'they'} {are} neither"
            " recorded nor counted in the cost"
        )
    if let_through.places:
        lines.append(
            f"clients that are not recorded have connected to {listed(let_through.places)}, {by}; what they asked there"
            " is not counted in the cost"
        )
    if let_through.programs:
        ran = plural(len(let_through.programs), "program")
        lines.append(f"{ran} ran, whose calls are not counted in the cost: {listed(let_through.programs)}")
    return lines


def cost_section(spends: Mapping[str, Spend], let_through: LetThrough = NOTHING_LET_THROUGH) -> Section:
    """Return what recording costs beside replaying: in one line, and by scenario."""
    called = _called(spends)
    key, facts = "cost", cost_json(spends)
    if not called:
        return Section("Cost", key=key, facts=facts)
    every = total(called)
    rows = [(_name(scenario), *_cells(spend)) for scenario, spend in called.items()]
    return Section(
        "Cost",
        [TextTable("", ("scenario", *COLUMNS), [*rows, ("total", *_cells(every))])],
        _notes(spends, let_through),
        lines=[_spend_words(every, is_all=not any(let_through))],
        snippet=price_advice(every.recording.unknown),
        key=key,
        facts=facts,
        brief=True,
    )


def cost_json(spends: Mapping[str, Spend]) -> dict[str, Any]:
    """Return the same as plain JSON types; what is unknown is null."""
    called = _called(spends)
    return {
        "version": 1,
        "total": _plain(total(called)),
        "scenarios": {scenario: _plain(spend) for scenario, spend in called.items()},
    }


def budget_line(
    balance: Balance, left: Mapping[str, int] | None = None, let_through: LetThrough = NOTHING_LET_THROUGH
) -> str:
    """Return what was spent of a budget, and why no other call may begin, where none may.

    `left` counts the cases that baselines were not asked, by name. What was `let_through` is in no budget.
    """
    spent, budget = balance.spent, budget_words(balance.budget)
    line = f"spent {dollars(spent.usd, estimated=spent.estimated)} of {budget}"
    without = [f"{plural(spent.unknown, 'call')} of unknown cost"] if spent.unknown else []
    without += ["what the rubric lets through"] if any(let_through) else []
    if without:
        line += f", without {' and '.join(without)}"
    if balance.barred:
        line += f"; {balance.barred}"
    elif spent.refused is not None and spent.usd < balance.budget:
        line += f", which has no room for another call, as one may cost {dollars(spent.refused)}"
    names = ", ".join(f"{one_line(name, 60)} ({plural(count, 'case')})" for name, count in (left or {}).items())
    return f"{line}; baselines not asked: {names}" if names else line


def price(bill: Bill) -> str:
    """Return the sum of a bill, "at least" so much if some calls have no price, "unknown" if none has."""
    if bill.known is None:
        return UNKNOWN
    usd = dollars(bill.usd, estimated=bool(bill.estimated))
    return f"at least {usd}" if bill.unpriced else usd


def price_advice(models: Sequence[str]) -> list[str]:
    """Return what to do so that models without a price get one: the lines of a rubric, to be filled in."""
    if not models:
        return []
    named = listed([f"`{one_line(model, 80)}`" for model in models])
    lines = [f"no price is known of {named}; add it to rubric.yaml, in US dollars per million tokens:", "  prices:"]
    lines += [f"    {price_key(model)}: {{input: USD, output: USD}}" for model in models[:_ADVISED]]
    if len(models) > _ADVISED:
        lines.append(f"    # and {len(models) - _ADVISED} more")
    return lines if available() else [*lines, f"the list prices of vendors come with {PRICE_LIST}"]


def _by_count(names: Mapping[str, int]) -> str:
    ordered = sorted(names.items(), key=lambda item: (-item[1], item[0]))
    return listed(f"{name} ({count:,})" for name, count in ordered)


def _called(spends: Mapping[str, Spend]) -> dict[str, Spend]:
    return {scenario: spend for scenario, spend in spends.items() if spend.calls}


def _name(scenario: str) -> str:
    return one_line(scenario) or "(none)"


# Sentences


def _spend_words(spend: Spend, *, is_all: bool) -> str:
    """Return what was spent and saved; unless that `is_all`, there were calls that are in no cost."""
    parts, counted = [], "" if is_all else " that is counted"
    if spend.spent.calls:
        parts.append(
            f"spent {_amount(spend.spent)}{counted}"
            if spend.spent.known is not None
            else _unpriced("made", spend.spent)
        )
    else:
        parts.append(f"spent nothing{counted}")
    if spend.saved.calls:
        replayed = plural(spend.saved.calls, "call")
        known = spend.saved.known is not None
        parts.append(
            f"replayed {replayed} that would cost {_amount(spend.saved)}"
            if known
            else _unpriced("replayed", spend.saved)
        )
    return ", ".join(parts)


def _unpriced(verb: str, bill: Bill) -> str:
    return f"{verb} {plural(bill.calls, 'call')}, price {UNKNOWN}"


def _amount(bill: Bill) -> str:
    """Return the sum of a bill, and what it leaves out."""
    if not bill.unpriced:
        return price(bill)
    return f"{price(bill)} ({plural(bill.unpriced, 'call')} without a price)"


def _cells(spend: Spend) -> tuple[str, ...]:
    uncounted = UNKNOWN if spend.tokens == Tokens() else ABSENT
    counts = (uncounted if count is None else f"{count:,}" for count in spend.tokens)
    return (f"{spend.calls:,}", *counts, price(spend.recording), price(spend.stays), _saved(spend))


def _saved(spend: Spend) -> str:
    if spend.unpriced:
        return UNKNOWN
    return percent(1 - spend.stays.usd / spend.recording.usd) if spend.recording.usd else ABSENT


def _notes(spends: Mapping[str, Spend], let_through: LetThrough) -> list[str]:
    every = total(spends)
    notes = [COST_MEANING]
    if every.unpriced:
        by_source = f"{every.spent.unpriced:,} live, {every.saved.unpriced:,} replayed"
        notes.append(f"{plural(every.unpriced, 'call')} without a price ({by_source}): unknown is not zero.")
    if every.uncounted:
        notes.append(f"{plural(every.uncounted, 'call')} without a count of tokens.")
    if words := let_through_words(let_through):
        notes.append(f"{words}.")
    return [*notes, *_estimated_note(every)]


def _estimated_note(spend: Spend) -> list[str]:
    count = spend.recording.estimated
    return [f"~: {plural(count, 'call')} {ESTIMATED_MEANING}"] if count else []


def _plain(spend: Spend) -> dict[str, Any]:
    return {
        "calls": spend.calls,
        "replayed": spend.replayed,
        "tokens": spend.tokens._asdict(),
        "without_tokens": spend.uncounted,
        "spent": _bill(spend.spent),
        "saved": _bill(spend.saved),
        "record": _bill(spend.recording),
        "replay": _bill(spend.stays),
    }


def _bill(bill: Bill) -> dict[str, Any]:
    """Return a bill; `usd` is a lower bound where calls have no price, and `estimated` if it is counted from texts."""
    return {
        "usd": bill.known,
        "calls": bill.calls,
        "without_price": bill.unpriced,
        "estimated": bool(bill.estimated),
        "models_without_price": list(bill.unknown),
    }


AGENT = "agent"
"""What the agent under test is called in a table."""
LIVE = "at list price with every call live"
ESTIMATE_MEANING = f"{LIVE}; a replay costs what stays live, which are the judges' calls by default"
ASSUMED = (
    "calls to OpenAI and Anthropic are taken at half price, though streams, and others that no batch takes, are not"
)


def estimate_section(
    found: Mapping[str, Estimate], runs: int, directly: Mapping[str, Estimate] | None = None
) -> Section:
    """Return what a slice will take, from so many earlier runs.

    `found` has the agent under test first, under an empty name, and the baselines by theirs. If that
    is a run by batch, `directly` has the same without.

    In JSON an amount has null in place of figures where nothing is known. What is not under `baselines` or `sum` is of
    the agent under test; of a run by batch, `without_batch` is the sum if it is none.
    """
    agent, amount = found[""], _usd(found)
    facts = {
        "version": 1,
        "cases": agent.cases,
        "runs": runs,
        **_of_agent(agent),
        "baselines": {name: _of_agent(one) for name, one in found.items() if name},
        "sum": {"usd": _estimate_plain(amount), "seconds": _estimate_plain(_seconds(found))},
        "batch": directly is not None,
        "without_batch": None if directly is None else {"usd": _estimate_plain(_usd(directly))},
    }
    if not agent.cases:
        return Section("", lines=["no case is chosen: this run costs nothing"], facts=facts)
    several = len(found) > 1
    asked = plural(agent.cases, "case") + (f", each asked of {len(found)} agents" if several else "")
    if directly is None:
        lines = [f"{asked}: {_estimate_words(amount)}, {ESTIMATE_MEANING}"]
    else:
        lines = [f"{asked}: {_estimate_words(amount)} by batch, {_estimate_words(_usd(directly))} without, {LIVE}"]
        if amount.assumed:
            lines.append(f"of {_cases(found, amount.assumed)} no run by batch is known: {ASSUMED}")
    if several:
        tables = list(_side_by_side(found, timed=directly is None))
        return Section("", tables, [f"from {plural(runs, 'earlier run')}"], lines, facts=facts)
    if directly is None:
        lines.append(f"the agent's time, one case after another: {_time(agent.seconds)}")
    if len(agent.by_scenario) > 1:
        lines += [f"  {_name(scenario)}: {_estimate_words(part)}" for scenario, part in agent.by_scenario.items()]
    return Section("", lines=[*lines, f"from {plural(runs, 'earlier run')}: {_sources(amount)}"], facts=facts)


def history_lines(history: Iterable[CaseCost], case_ids: Container[str], model: str | None) -> Iterator[str]:
    """Yield which prices stand for those of recorded models, and how to name those that are not known."""
    costs = [one for one in history if one.case_id in case_ids]
    if replaced := sorted({one.replaced for one in costs if one.replaced}):
        yield f"at the price of `{model}` for the tokens that {swapped_models(replaced)} took"
    yield from price_advice(sorted({name for one in costs for name in one.unpriced}))


def swapped_models(names: Iterable[str]) -> str:
    """Return the models that another one replaces, in words."""
    return listed([f"`{one_line(name, 80)}`" for name in sorted({one for name in names for one in name.split(", ")})])


def beyond(found: Mapping[str, Estimate], most: float, directly: Mapping[str, Estimate] | None = None) -> str:
    """Return why all agents together are not known to cost at most `most`, in US dollars; empty if they are.

    What batches take is known of cases that ran by batch alone; with others all of it has to be within,
    though it is made `directly`.
    """
    amount = _usd(found)
    if amount.total > most:
        return f"{_estimate_words(amount)} is more than {dollars(most)}"
    if amount.unknown:
        unknown = _cases(found, amount.unknown)
        return f"it may be more than {dollars(most)}: the cost of {unknown} is unknown"
    if directly is not None and amount.assumed and _usd(directly).total > most:
        return (
            f"it may be more than {dollars(most)}: of {_cases(found, amount.assumed)} no run by batch is"
            f" known, and directly the slice costs {_estimate_words(_usd(directly))}"
        )
    return ""


def _cases(found: Mapping[str, Estimate], count: int) -> str:
    return plural(count, "case") + (", counted for each agent," if len(found) > 1 else "")


def _usd(found: Mapping[str, Estimate]) -> Amount:
    return together(one.usd for one in found.values())


def _seconds(found: Mapping[str, Estimate]) -> Amount:
    return together(one.seconds for one in found.values())


# Tables


def _side_by_side(found: Mapping[str, Estimate], *, timed: bool) -> Iterator[TextTable]:
    every = [(_estimate_name(name), one.usd, one.seconds) for name, one in found.items()]
    rows = [
        (name, _cost(usd), _spread(usd) or "–", *([_time(seconds)] if timed else ()), *_counts(usd))
        for name, usd, seconds in [*every, ("sum", _usd(found), _seconds(found))]
    ]
    time = ["agent's time"] if timed else []
    yield TextTable("", ("asked", "cost", "95 %", *time, "by itself", "by scenario", UNKNOWN), rows)
    scenarios = list(found[""].by_scenario)
    if len(scenarios) > 1:
        costs = [(_name(name), *(_cost(one.by_scenario[name]) for one in found.values())) for name in scenarios]
        yield TextTable("", ("cost by scenario", *map(_estimate_name, found)), costs)


def _counts(usd: Amount) -> list[str]:
    return [f"{count:,}" for count in (usd.own, usd.borrowed, usd.unknown)]


def _estimate_name(name: str) -> str:
    return one_line(name, 60) or AGENT


# Amounts


def _of_agent(found: Estimate) -> dict[str, Any]:
    return {
        "usd": _estimate_plain(found.usd),
        "seconds": _estimate_plain(found.seconds),
        "scenarios": {scenario: _estimate_plain(amount) for scenario, amount in found.by_scenario.items()},
    }


def _estimate_plain(amount: Amount) -> dict[str, Any]:
    plain = {**amount._asdict(), "estimated": bool(amount.estimated)}
    return plain if _is_known(amount) else {**plain, "total": None, "low": None, "high": None, "most": None}


def _is_known(amount: Amount) -> bool:
    return bool(amount.own or amount.borrowed)


def _estimate_words(amount: Amount) -> str:
    if not _is_known(amount):
        return f"cost {UNKNOWN}"
    spread = _spread(amount)
    words = f"{_cost(amount)} (95 %: {spread})" if spread else _cost(amount)
    return words + at_most(amount.total, amount.most, estimated=bool(amount.estimated), partly=bool(amount.unknown))


def at_most(usd: float, most: float, *, estimated: bool = False, partly: bool = False) -> str:
    """Return what cases cost at most beside what they cost if verdicts come again; empty if that is the same.

    `partly` says that this is not known of all of them.
    """
    if dollars(most) == dollars(usd) or most < usd:
        return ""
    return f", {dollars(most, estimated=estimated)} at most{' for the known' if partly else ''}"


def _cost(amount: Amount) -> str:
    if not _is_known(amount):
        return UNKNOWN
    usd = dollars(amount.total, estimated=bool(amount.estimated))
    return f"{'at least' if amount.unknown else 'about'} {usd}"


def _spread(amount: Amount) -> str:
    return f"{dollars(amount.low)} to {dollars(amount.high)}" if amount.high > amount.low else ""


def _time(amount: Amount) -> str:
    if not _is_known(amount):
        return UNKNOWN
    seconds = amount.total
    time = f"{seconds:.1f} s" if seconds < 60 else f"{seconds / 60:.0f} min"
    return f"at least {time}" if amount.unknown else f"about {time}"


def _sources(amount: Amount) -> str:
    parts = [
        (amount.own, "by what it cost itself"),
        (amount.borrowed, "by the mean of its scenario"),
        (amount.unknown, "not known, and in no sum"),
    ]
    return ", ".join(f"{plural(count, 'case')} {how}" for count, how in parts if count)
