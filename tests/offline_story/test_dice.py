"""What is drawn for a seed."""

from __future__ import annotations

from offline_story.dice import Dice


def test_the_dice_fall_alike_for_the_same_key_and_all_numbers_come() -> None:
    assert {Dice("0").number(1, 6, key) for key in range(200)} == {1, 2, 3, 4, 5, 6}
    assert Dice("0").number(0, 10**6, "a") == Dice("0").number(0, 10**6, "a") != Dice("1").number(0, 10**6, "a")
    assert Dice("0").number(0, 10**6, "a", "b") != Dice("0").number(0, 10**6, "ab")
    drawn = Dice("0").several(range(10), 10, "x")
    assert sorted(drawn) == list(range(10))
    assert Dice("0").several("ab", 5, "x") == Dice("0").several("ab", 2, "x")
