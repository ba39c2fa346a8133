"""`recall bench heatmap`: pictures of a run, beside it or where they are wanted."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from tests.cli.conftest import Recall
from tests.helpers.horizon_runs import SMALL, write_run


def test_pictures_go_into_the_folder_of_the_run(tmp_path: Path, inside: Recall) -> None:
    write_run(tmp_path / "run", SMALL)
    done = inside(tmp_path, "bench", "heatmap", "run")
    files = ["run/heatmap.svg", "run/recall-vs-size.svg"]
    assert done == (0, "".join(f"{file}\n" for file in files), "")
    assert [one.text for one in texts_of(tmp_path / files[0])][:1] == ["A memory"]
    assert "mean points of 6" in [one.text for one in texts_of(tmp_path / files[1])]


def test_or_where_they_are_wanted_in_other_colours(tmp_path: Path, inside: Recall) -> None:
    write_run(tmp_path / "run", SMALL)
    done = inside(tmp_path, "bench", "heatmap", "run", "-o", "pictures/mine.svg", "--colors", "published")
    assert (done.code, done.out.split()) == (0, ["pictures/mine.svg", "pictures/mine-recall-vs-size.svg"])
    assert 'fill="#13131f"' in (tmp_path / "pictures" / "mine.svg").read_text(encoding="utf-8")


def test_a_run_without_answers_has_a_heatmap(tmp_path: Path, inside: Recall) -> None:
    folder = write_run(tmp_path / "run", SMALL, questions=False)
    (folder / "result.json").unlink()
    done = inside(tmp_path, "bench", "heatmap", "run")
    told = "recall: the run's files hold no answers, so that there are no bands to draw\n"
    assert done == (0, "run/heatmap.svg\n", told)


def texts_of(picture: Path) -> list[ElementTree.Element]:
    """Return the texts in a picture."""
    return list(ElementTree.parse(picture).iter("{http://www.w3.org/2000/svg}text"))
