"""Offline phrases: what an entry that no model writes is made of, by the kind of an arc."""

from __future__ import annotations

from typing import NamedTuple

from pytest_recall.core.horizon.story import ArcType


class Measure(NamedTuple):
    """A figure that an arc carries along: where it begins, and by how much it goes up or down at a time."""

    name: str
    first: tuple[int, int]
    step: tuple[int, int]
    unit: str = ""


MEASURES: dict[ArcType, tuple[Measure, ...]] = {
    "project": (
        Measure("what is committed so far", (12, 30), (1, 6), ",000 dollars"),
        Measure("the list of open tasks", (30, 60), (-4, 2), " tasks"),
        Measure("hours booked on it", (20, 45), (2, 9), " hours"),
    ),
    "incident": (
        Measure("the hours that it has cost", (8, 20), (3, 9), " hours"),
        Measure("calls from outside about it", (5, 15), (1, 7), " calls"),
    ),
    "decision": (
        Measure("people who were heard on it", (2, 4), (1, 2), " people"),
        Measure("pages of the paper for it", (3, 6), (1, 3), " pages"),
    ),
    "learning": (
        Measure("cases that I have collected", (6, 12), (2, 6), " cases"),
        Measure("cases that fit no rule", (2, 5), (0, 2), " cases"),
    ),
    "relationship": (
        Measure("points that we have agreed", (2, 5), (0, 2), " points"),
        Measure("letters and calls so far", (4, 9), (1, 4), " exchanges"),
    ),
    "correction": (
        Measure("papers that rely on this", (3, 7), (1, 3), " papers"),
        Measure("times that somebody asked me for it", (2, 5), (1, 3), " times"),
    ),
}
TALKS: dict[ArcType, tuple[str, ...]] = {
    "project": (
        "{who} went through the next steps with me, and put the one with the longest lead time first.",
        "I laid the plan beside the calendar with {who}; two dates collided, and we moved the later one to {later}.",
        "{who} asked for the state of things in five lines. I wrote them, and left out what was only hoped for.",
        "{who} wanted to know what happens if a week is lost. I worked it out: it costs the reserve, and no more.",
    ),
    "incident": (
        "{who} called twice; the second time there was a cause, and the first time there was only noise.",
        "I kept the list of who was told what, by the minute. {who} read it and corrected one name.",
        "{who} asked that nobody promises a time before {later}. I put that on top of the note to everybody.",
    ),
    "decision": (
        "{who} put the strongest reason against it on the table first, and I wrote it down word for word.",
        "I set the choices side by side for {who}: price, delay, and what cannot be undone afterwards.",
        "{who} did not want to be hurried: “Show me the numbers by {later}, and then I will say it once.”",
    ),
    "learning": (
        "I compared what was expected with what happened, and {who} named the reason for the largest difference.",
        "{who} told me of a case from last year that breaks the rule; I added it, with its date.",
        "The pattern held again today. {who} is not convinced yet, and asked for the next weeks until {later}.",
    ),
    "relationship": (
        "{who} was brief and friendly, and said what matters at once: fewer words, and the figure first.",
        "I answered {who} within the hour, which was noticed: “That is how I like it.”",
        "{who} moved our talk to {later}; I changed nothing else, and confirmed it in a line.",
    ),
    "correction": (
        "{who} asked me for it in passing, and I gave the answer from my notes.",
        "I used it in a paper for {who}, with the place where I have it from.",
        "It came up with {who} when we looked at the week of {later}.",
    ),
}
OPEN: dict[ArcType, tuple[str, ...]] = {
    "project": ("get the next date in writing from {who} by {later}", "clear the oldest task with {who} by {later}"),
    "incident": ("tell everybody who was promised an answer by {later}", "file the report with {who} by {later}"),
    "decision": ("hear {who} once more by {later}", "finish the paper and give it to {who} by {later}"),
    "learning": ("add the cases up to {later}", "show {who} the exceptions by {later}"),
    "relationship": ("answer {who} by {later}", "prepare the talk with {who} on {later}"),
    "correction": ("look where else this is written, by {later}", "mention it to {who} by {later}"),
}
QUIET = (
    "Nothing moved here today. I read the notes again and left them as they are.",
    "A quiet day on this: no call, no letter, and no change.",
    "I only looked in: everything is as it was.",
)
