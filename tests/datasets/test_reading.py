"""Reading: what a model is shown that answers from passages."""

from __future__ import annotations

import pytest

from pytest_recall.datasets.file import LAYOUTS
from pytest_recall.datasets.reading import PROMPTS, material, prompt_version, reading_of, reply_of, spelled
from pytest_recall.metrics.abstention import abstains
from pytest_recall.trials.trial import Passage
from tests.helpers.scripted import Scripted


def test_a_model_is_shown_passages_with_their_dates_and_asked_at_the_end() -> None:
    found = [Passage(text="Then.", source="answer_1"), Passage(text="Now.")]
    assert material("When?", found, ["2023-05-08", ""], "2024-01-07") == (
        "[1] 2023-05-08\nThen.\n\n[2]\nNow.\n\nToday: 2024-01-07\nQuestion: When?"
    )


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("2023-05-08T13:56", "Monday, 8 May 2023, 13:56"),
        ("2024-02-29T00:00:00", "Thursday, 29 February 2024, 00:00"),
        ("some day", "some day"),
        ("", ""),
    ],
)
def test_a_date_is_told_with_its_weekday_as_people_write_it(written: str, told: str) -> None:
    assert spelled(written) == told


def test_that_nothing_was_found_is_said() -> None:
    assert material("Why?", [], [], "") == "(The memory found nothing.)\n\nQuestion: Why?"


@pytest.mark.parametrize("name", PROMPTS)
def test_a_reader_is_told_to_abstain_in_words_that_the_metric_knows(name: str) -> None:
    (line,) = (one for one in PROMPTS[name].splitlines() if one.startswith("- If the passages do not say it"))
    assert abstains(line, name)
    assert not abstains(PROMPTS[name].replace(line, ""), name)


def test_each_dataset_has_a_prompt_and_each_prompt_a_version_of_its_own() -> None:
    assert PROMPTS.keys() == {*LAYOUTS, "plain"}
    assert len({prompt_version(name).split()[1] for name in PROMPTS}) == len(PROMPTS)


def test_an_answer_is_what_follows_the_thinking_of_a_reader() -> None:
    assert reply_of(Scripted("<think>Rome? No.</think>\nParis"), reading_of("", "Where?")).strip() == "Paris"
