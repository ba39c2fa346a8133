"""Links that a pull request has planted in a checkout: what is written never follows one out of its folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.project import Checkout
from tests.helpers.talking import agent, asking, talking
from tests.helpers.upstream import Upstream

pytest.importorskip("httpx2")


def plant(checkout: Checkout, link: str, text: str, tmp_path: Path) -> Path:
    """Let `link` lead to a file outside of the checkout, and return that one."""
    target = tmp_path / "victim"
    target.write_text(text, encoding="utf-8")
    planted = checkout.path / link
    planted.parent.mkdir(parents=True, exist_ok=True)
    planted.symlink_to(target)
    return target


@pytest.mark.parametrize("how", ["--record", "--record=missing"])
def test_a_recording_does_not_leave_its_folder(
    pytester: pytest.Pytester, upstream: Upstream, tmp_path: Path, how: str
) -> None:
    link = "eval/cassettes/one/a.ndjson"
    checkout = talking(upstream, agent("return httpx2_sync('one')")).with_cases(asking("a")).at(pytester)
    target = plant(checkout, link, "mine\n", tmp_path)
    result = checkout.run("eval", how, "--recall-mode=all")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"*{link}: is a link to {target}, out of its folder, *; remove the link*"])
    assert target.read_text(encoding="utf-8") == "mine\n"
    assert upstream.prompts == [], "nothing is paid for that could not be kept"


@pytest.mark.parametrize(
    ("link", "text"), [("eval/recall.yaml", "version: 1\ncases: {}\n"), ("eval/_artifacts/.lock", "mine\n")]
)
def test_a_run_does_not_leave_its_folder(
    pytester: pytest.Pytester, upstream: Upstream, tmp_path: Path, link: str, text: str
) -> None:
    checkout = talking(upstream, agent("return httpx2_sync('one')")).with_cases(asking("a")).at(pytester)
    target = plant(checkout, link, text, tmp_path)
    result = checkout.run("eval")
    said = result.stdout.str() + result.stderr.str()
    assert result.ret != pytest.ExitCode.OK
    assert f"{link}: is a link to {target}, out of its folder" in said
    assert "Traceback" not in said
    assert target.read_text(encoding="utf-8") == text
    assert upstream.prompts == ([] if link.endswith("yaml") else ["one"])
