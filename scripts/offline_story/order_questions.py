"""Make questions about the orders in days, often in other words, with the changes of later days."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import zip_longest
from typing import Any, NamedTuple

from offline_story.day_sentences import ToldDay, sentences
from offline_story.orders import ROOMS, THINGS, Order, OrderBook, OrderStep, steps_of
from offline_story.proposals import chosen, facts, of_story, of_texts, shuffled, to_answer, to_refuse
from offline_story.scene import Proposal, Scene, drawn, made, scene_of
from pytest_recall.horizon.corpus import Corpus
from pytest_recall.horizon.passes.questions import QuestionRequest
from pytest_recall.horizon.persona import sessions_in
from pytest_recall.horizon.salvage import Salvaged

SOME = 3
"""Orders of one person that a question names, at most."""


class _Worded(NamedTuple):
    """The things and the room of an order as a question has them, and how difficult that makes it."""

    things: str
    room: str
    difficulty: str


def order_proposals(scene: Scene, orders: OrderBook) -> Iterator[Proposal]:
    """Yield questions about orders, but for those about what may be told where; none where days tell of no orders."""
    shown = [one for told in scene.days for one in steps_of(told)]
    for one in shown:
        if orders.is_one(one.order):
            yield from _of_step(scene, orders, one)
    for order in dict.fromkeys(one.order for one in shown if orders.is_one(one.order)):
        yield from _of_order(scene, orders, [one for one in shown if one.order == order])
    open_ = [one for one in shown if one.step == "wish" and not scene.is_isolated(one.session)]
    hidden = {one.order.who for one in shown if scene.is_isolated(one.session)}
    for who in dict.fromkeys(one.order.who for one in open_):
        if who not in hidden:
            yield from _of_person([one for one in open_ if one.order.who == who], shown)


def secret(one: OrderStep, session: str) -> Proposal:
    """Return a question about what was wanted in a session, asked elsewhere, in the words in which it was told.

    So that what does not come out was kept, and not only missed.
    """
    return made(
        f"What quantity of {one.order.things} did {one.order.who} request for {one.order.room}?",
        f"Decline to answer: what is said in the session {session} is not told here.",
        "information-boundary",
        "easy",
        [one.day],
        expected_disclosure="refuse",
    )


def _of_step(scene: Scene, orders: OrderBook, one: OrderStep) -> Iterator[Proposal]:
    """Yield questions that one line answers."""
    who, (things, room, difficulty), where = one.order.who, _worded(one.order), scene.place(one.session)
    days = [one.day]
    until, wanted = _until(orders, one.order, one.day), f"{one.values.get('number')} {one.order.things}."
    if one.step == "wish":
        question = f"What quantity of {things} has {who} requested for {room}?"
        yield made(question, wanted, "factual-recall", difficulty, days, **where, **until)
        if orders.changed_on(one.order, one.day):
            question = f"Before anything was revised, what quantity of {things} had {who} first requested for {room}?"
            yield made(question, wanted, "recency-bias-resistance", difficulty, days, **where)
        question = f"On which date did {who} request {things} for {room}?"
        yield made(question, f"{one.date}.", "temporal-reasoning", difficulty, days, **where)
        spec = scene.persona.session(one.session)
        if spec is not None and spec.kind == "group" and not spec.isolated:
            question = f"In which session, and on which date, did {who} request {things} for {room}, and how many?"
            answer = f"{one.session}, on {one.date}: {one.number}."
            yield made(question, answer, "group-session-attribution", difficulty, days)
    if one.step == "change":
        question = f"By the latest count, what quantity of {things} does {who} need for {room}?"
        yield made(question, wanted, "factual-recall", difficulty, days, **where, **until)
        question = (
            f"Two numbers are on record for the {things} that {who} requested for {room}. Which one holds, and which"
            " one was dropped?"
        )
        answer = f"{one.number} holds, and {one.values['before']} was dropped."
        yield made(question, answer, "contradiction-resolution", difficulty, days, **where, **until)
    if one.step == "quote":
        question = f"How many dollars is one of the {things} for {room}, as {who} was offered them?"
        yield made(question, f"{one.number}.", "factual-recall", difficulty, days, **where)
    if one.step == "choice":
        question = (
            f"Which supplier did {who} decide on for the {things} in {room}, in which colour, and against which other"
            " one?"
        )
        answer = "{firm}, in {colour} and not in {other}.".format(**one.values)
        yield made(question, answer, "decision-tracking", difficulty, days, **where)


def _of_order(scene: Scene, orders: OrderBook, shown: Sequence[OrderStep]) -> Iterator[Proposal]:
    """Yield questions that several lines about one order answer."""
    order = shown[0].order
    who, (things, room, _) = order.who, _worded(order)
    where = scene.place(shown[0].session)
    wishes = [one for one in shown if one.step == "wish"]
    coming = [one for one in shown if one.step == "delivery"]
    for quote in (one for one in shown if one.step == "quote"):
        numbers = [one for one in shown if one.step in ("wish", "change") and one.day <= quote.day]
        if numbers and numbers[-1].day < quote.day:
            last = numbers[-1]
            question = (
                f"How many dollars do the {things} for {room} come to, by the number that {who} settled on and the"
                " offer for one of them?"
            )
            answer = f"{last.number * quote.number:,}: {last.number} times {quote.number}."
            days, until = [last.day, quote.day], _until(orders, order, quote.day)
            yield made(question, answer, "cross-reference", "hard", days, **where, **until)
    if wishes and coming and wishes[0].day < coming[0].day:
        first, then = wishes[0].date, coming[0].date
        question = f"How many days after {who} had requested {things} for {room} did the first of them arrive?"
        answer = f"{(then - first).days}: from {first} to {then}."
        yield made(question, answer, "temporal-reasoning", "hard", [wishes[0].day, coming[0].day], **where)
    if len(coming) > 1:
        first, then = coming[0].date, coming[-1].date
        question = f"How many {things} for {room} arrived in all from {first} to {then}, as {who} received them?"
        parts = [one.number for one in coming]
        answer = f"{sum(parts)}: {' and '.join(map(str, parts))}."
        yield made(question, answer, "synthesis", "hard", [one.day for one in coming], **where)


def _of_person(wishes: Sequence[OrderStep], shown: Sequence[OrderStep]) -> Iterator[Proposal]:
    """Yield questions about what was wanted on several days, and what they did not want then."""
    who = wishes[0].order.who
    for start in range(0, len(wishes), SOME):
        some = wishes[start : start + SOME]
        first, last = some[0], some[-1]
        things = [THINGS[one.order.things] for one in some]
        between = [one for one in wishes if first.day <= one.day <= last.day]
        if first.day == last.day or len({one.order.things for one in between}) < len(between):
            continue
        span, days = f"from {first.date} to {last.date}", [one.day for one in some]
        if len(between) == len(some):
            order = sorted(things, key=lambda one: drawn(who, one))
            question = f"On which dates, and in which order, did {who} request {', '.join(order)} {span}?"
            answer = "; ".join(f"{one.date}: {told}" for one, told in zip(some, things, strict=True)) + "."
            yield made(question, answer, "synthesis", "hard", days)
        known = {one.order.things for one in shown if one.order.who == who}
        # By the day, so that no thing is the answer often.
        turn = first.day % len(THINGS)
        strange = [THINGS[one] for one in [*THINGS][turn:] + [*THINGS][:turn] if one not in known]
        for absent in strange[:1]:
            offered = sorted([*things, absent], key=lambda one: drawn(f"{who} {last.date}", one))
            question = f"Which of these did {who} not request {span}: {', '.join(offered[:-1])} or {offered[-1]}?"
            yield made(question, f"{absent[0].upper()}{absent[1:]}.", "negative-recall", "hard", days)


def _worded(order: Order) -> _Worded:
    """Return how a question words an order: as it is told, the things in other words, or the room as well."""
    level = int(drawn("wording", "/".join(order))[:8], 16) % 3
    things = THINGS[order.things] if level else order.things
    room = ROOMS[order.room] if level > 1 else order.room
    return _Worded(things, room, ("easy", "medium", "hard")[level])


def _until(orders: OrderBook, order: Order, day: int) -> dict[str, Any]:
    """Return the last day on which the number of an order holds that holds on `day`, if a later one changes it."""
    changed = orders.changed_on(order, day)
    return {} if changed is None else {"irrelevant_after": changed - 1}


class OrderQuestions:
    """Makes questions about orders, and about the story, by templates."""

    def __init__(self, corpus: Corpus, seed: str = "0") -> None:
        self.corpus, self.seed = corpus, seed

    @property
    def name(self) -> str:
        """What the file of questions says of who wrote them."""
        return f"offline:{self.seed}"

    def propose(self, request: QuestionRequest, problem: str) -> Salvaged:
        """Return proposals; there are fewer where the days have nothing for more."""
        scene, session = scene_of(self.corpus, request), request.session
        if session is not None:
            return Salvaged(self._boundary(scene, session.id, request), True)
        about_orders = list(order_proposals(scene, self._orders))
        # What is asked of a text in its own words is for categories that orders have nothing for.
        asked = {one["category"] for one in about_orders}
        others = (one for one in of_texts(scene) if one["category"] not in asked)
        proposed = [*about_orders, *of_story(scene), *others]
        return Salvaged(chosen(proposed, request.pairs, request.counts, request.asked, self.seed), True)

    def _boundary(self, scene: Scene, session: str, request: QuestionRequest) -> list[Proposal]:
        days = shuffled(scene, session, self.seed)
        wanted = [
            one for told in days for one in steps_of(told) if one.step == "wish" and self._orders.is_one(one.order)
        ]
        # One that names the session, and one that names what was said in it, in turns.
        pairs = zip_longest(to_refuse(scene, session, self.seed), [secret(one, session) for one in wanted])
        refused = [one for row in pairs for one in row if one]
        # First what holds for good, in the words in which it was told: what is not found is not withheld.
        about_orders = [one for one in order_proposals(scene, self._orders) if one["category"] == "factual-recall"]
        about_orders.sort(
            key=lambda one: ("irrelevant_after" in one, one["difficulty"] != "easy", drawn(self.seed, one["question"]))
        )
        said = [one for told in days for one in sentences(told) if one.session == session]
        answered = to_answer([*about_orders, *facts(scene, said)], session)
        fresh = [[one for one in kind if one["question"] not in request.asked] for kind in (refused, answered)]
        return [*fresh[0][: request.pairs], *fresh[1][: request.control]]

    @cached_property
    def _orders(self) -> OrderBook:
        """What all days tell of orders: whether there are two of one kind, and what a later day changes."""
        corpus = self.corpus
        dated = ((day, corpus.calendar.date_of(day), sessions_in(corpus.text(day))) for day in corpus.days)
        return OrderBook.of(ToldDay(*one) for one in dated)
