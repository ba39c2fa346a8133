"""Judge an answer to a question of a memory benchmark as right or wrong, by the rule of its paper.

The rules are those of LongMemEval (Wu et al. 2024, arXiv 2410.10813, and its evaluation code: one for each
type of question, and one for abstention), of LoCoMo as results on it are usually judged (Mem0: Chhikara et
al. 2025, arXiv 2504.19413, and its evaluation code, which leaves adversarial questions out), and of DMR (MemGPT:
Packer et al. 2023, arXiv 2310.08560). The words are ours, and so is the strict reading: a reply without a
label is no judgement. Figures of other prompts, and of other models, are not comparable to the last point.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_recall.cases.case import Case
from pytest_recall.files.errors import ArgumentError, nearest
from pytest_recall.judges import fence, judge_call
from pytest_recall.judges.fence import FencedPart
from pytest_recall.judges.judge_call import Prompt, Seat, reply_schema, version_of
from pytest_recall.trials.trial import ANSWERED, Answer, Vote

LABELS = ("correct", "wrong")
SCHEMA = reply_schema("label", {"type": "string", "enum": list(LABELS)})
UNANSWERABLE = "unanswerable"

_FACTS = """\
The answer is correct if it contains the REFERENCE, in these or in other words, or if it gives all the steps from
which the REFERENCE follows. It is wrong if it gives a part only of what is asked for."""
_LENIENT = """\
Be generous. The REFERENCE is short, and the answer may be much longer: it is correct as long as it touches on the
same matter as the REFERENCE."""

RULES: Mapping[str, Mapping[str, str]] = {
    "longmemeval": {
        "single-session-user": _FACTS,
        "single-session-assistant": _FACTS,
        "multi-session": _FACTS,
        "temporal-reasoning": f"""\
{_FACTS} Where a number of days, weeks or months is asked for, one that is off by one is correct.""",
        "knowledge-update": """\
What was asked about has changed in the course of the conversations. The answer is correct if it gives the REFERENCE,
which is the newest state; it may say beside it what was true before.""",
        "single-session-preference": """\
The REFERENCE is no answer, but says what an answer that suits this person takes into account. The answer is correct
if it recalls what the person has said about themselves and makes right use of it. It need not cover every point.""",
        UNANSWERABLE: """\
The question cannot be answered from the conversations; the REFERENCE, where there is one, says why. The answer is
correct if it recognises this: that the information is missing or incomplete, or that something else was said, but not
what was asked for. It is wrong if it answers all the same.""",
    },
    "locomo": {
        "": f"""\
{_LENIENT} Where a time is asked for, it is correct if it means the same date or period, however that is written,
also by its distance, such as "last Tuesday".""",
    },
    "dmr": {"": _LENIENT},
    "strict": {"": f"""{_FACTS} A name, a number or a date has to be that of the REFERENCE; a vaguer one is wrong."""},
}
"""The rules, by dataset and category; `` is for every category of a dataset that tells none apart.

`strict` is no paper's: it is what a generous rule is compared with, on any dataset.
"""

_SYSTEM = """\
You decide whether an assistant's answer to a question about earlier conversations is correct.

{data}

{rule}

Reply with one JSON object: first "reasoning", in at most two sentences; then "label", which is "correct" or "wrong".
"""


@dataclass(frozen=True, kw_only=True)
class PaperInquiry:
    """The question whether an answer is right by the rule of a paper."""

    system: str
    parts: tuple[FencedPart, ...]
    version: str

    def hear(self, seat: Seat) -> Vote:
        """Return the vote: 1 for correct and 0 for wrong."""
        prompt = Prompt(self.system, fence.fenced(self.parts), SCHEMA)
        reasoning, label = seat.put(prompt, lambda reply: judge_call.chosen(reply, "label", LABELS))
        passed = label == "correct"
        return Vote(passed=passed, score=float(passed), reason=f"{label}: {reasoning}")


def judges_unanswerable(dataset: str) -> bool:
    """Whether the paper of a dataset has a rule for unanswerable questions."""
    return UNANSWERABLE in RULES.get(dataset, {})


def inquiry(
    answer: Answer,
    case: Case,
    *,
    dataset: Any = None,
    category: Any = None,
    unanswerable: Any = False,
    expected: Any = None,
) -> PaperInquiry:
    """Let a model say whether the answer is correct, by the rule that the dataset's paper has for it.

    dataset: `longmemeval`, `locomo` or `dmr`; a file `*.dataset.yaml` says it by itself, as well as the next two. Or
    `strict`, a rule of ours for any of them. category: that of the question, for LongMemEval; without it, the case's
    `dimension`. unanswerable: it asks for what was never said, so that an answer that says so is right; there is such
    a rule for LongMemEval alone.
    Passages without an answer are not judged.

    Raises ValueError.
    """
    if answer.usage.get(ANSWERED, 1) == 0:
        raise ArgumentError("needs an answer, and the memory returned passages alone; judge these by `benchmark`")
    if dataset not in RULES:
        raise ArgumentError(f"dataset: {dataset!r} has no rule{nearest(str(dataset), RULES)}")
    rules = RULES[dataset]
    name = "" if "" in rules else case.dimension if category is None else category
    if unanswerable:
        if UNANSWERABLE not in rules:
            raise ArgumentError(f"{dataset} has no rule for unanswerable questions; judge these by `benchmark`")
        name = UNANSWERABLE
    elif name not in rules or name == UNANSWERABLE:
        known = [one for one in rules if one != UNANSWERABLE]
        raise ArgumentError(f"category: {name!r} is not a category of {dataset}{nearest(str(name), known)}")
    reference = case.expected if expected is None else expected
    if reference is None and not unanswerable:
        raise ArgumentError("needs `expected`; give it in the case or as an argument")
    parts = [FencedPart("QUESTION", fence.question(case))]
    if reference is not None:
        parts.append(FencedPart("REFERENCE", fence.plain(reference)))
    parts.append(FencedPart("ANSWER", answer.text))
    system = _SYSTEM.format(data=fence.DATA, rule=rules[name])
    return PaperInquiry(system=system, parts=tuple(parts), version=version_of("paper", system, SCHEMA))
