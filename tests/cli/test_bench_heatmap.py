"""`recall bench heatmap`: pictures of a run, beside it or where they are wanted."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.cli.conftest import Recall
from tests.helpers.horizon_runs import SMALL, write_run

pytest.importorskip("matplotlib")


def test_pictures_go_into_the_folder_of_the_run_and_replace_older_ones_of_the_other_format(
    tmp_path: Path, inside: Recall, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_run(tmp_path / "run", SMALL)
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "matplotlib", None)
        assert inside(tmp_path, "bench", "heatmap", "run", "--svg").code == 0
    for file in (tmp_path / "run").glob("*.svg"):
        os.utime(file, (1, 1))
    done = inside(tmp_path, "bench", "heatmap", "run")
    assert (done.code, done.out.split()) == (0, ["run/heatmap.png", "run/recall-vs-size.png"])
    assert all((tmp_path / name).read_bytes().startswith(b"\x89PNG") for name in done.out.split())
    assert done.err == (
        "recall: run/heatmap.svg is removed: it is older than what heatmap.png shows\n"
        "recall: run/recall-vs-size.svg is removed: it is older than what recall-vs-size.png shows\n"
    )
    assert not list((tmp_path / "run").glob("*.svg"))


def test_a_run_without_answers_has_a_heatmap(tmp_path: Path, inside: Recall) -> None:
    folder = write_run(tmp_path / "run", SMALL, questions=False)
    (folder / "result.json").unlink()
    done = inside(tmp_path, "bench", "heatmap", "run")
    told = "recall: the run's files hold no answers, so that there are no bands to draw\n"
    assert done == (0, "run/heatmap.png\n", told)


def test_a_name_of_another_format_is_refused(tmp_path: Path, inside: Recall) -> None:
    write_run(tmp_path / "run", SMALL)
    done = inside(tmp_path, "bench", "heatmap", "run", "-o", "a.svg")
    assert done == (2, "", "recall: a.svg: is to be PNG; call it *.png, or give --svg\n")
    done = inside(tmp_path, "bench", "heatmap", "run", "--svg", "-o", "a.png")
    assert done == (2, "", "recall: a.png: is to be SVG; call it *.svg, or leave --svg out\n")


def test_without_matplotlib_pictures_are_svg(tmp_path: Path, inside: Recall, monkeypatch: pytest.MonkeyPatch) -> None:
    write_run(tmp_path / "run", SMALL)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    told = "recall: SVG is drawn without matplotlib; for PNG, run `pip install 'pytest-recall[pictures]'`\n"
    done = inside(tmp_path, "bench", "heatmap", "run")
    files = ["run/heatmap.svg", "run/recall-vs-size.svg"]
    assert done == (0, "".join(f"{file}\n" for file in files), told)
    assert [one.text for one in texts_of(tmp_path / files[0])][:1] == ["A memory"]
    assert "mean points of 6" in [one.text for one in texts_of(tmp_path / files[1])]
    done = inside(tmp_path, "bench", "heatmap", "run", "--svg", "-o", "pictures/mine.svg", "--colors", "published")
    assert done.err == told
    assert 'fill="#13131f"' in (tmp_path / "pictures" / "mine.svg").read_text(encoding="utf-8")


def test_a_png_that_is_asked_for_needs_matplotlib(
    tmp_path: Path, inside: Recall, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_run(tmp_path / "run", SMALL)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = inside(tmp_path, "bench", "heatmap", "run", "-o", "a.png")
    told = "pictures need matplotlib; run `pip install 'pytest-recall[pictures]'`, or call it *.svg and give --svg"
    assert done == (2, "", f"recall: a.png: {told}\n")
    assert not list(tmp_path.glob("a.*"))


def texts_of(picture: Path) -> list[ElementTree.Element]:
    """Return the texts in a picture."""
    return list(ElementTree.parse(picture).iter("{http://www.w3.org/2000/svg}text"))
