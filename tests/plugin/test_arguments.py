"""The command of another pytest process."""

from __future__ import annotations

import pytest

from pytest_recall.plugin.arguments import options_of


def test_paths_are_told_from_values_of_options_wherever_they_are_given(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester.makeini("[pytest]\naddopts = svc_a --tb short\n")
    (pytester.path / "more").write_text("svc_b/eval\n", encoding="utf-8")
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:randomly svc_b")
    args = ("--deselect", "svc_a", "@more", "-q", "--", "svc_a")
    config = pytester.parseconfig("--deselect", "svc_a", "@more", "-q", "svc_a")
    # `parseconfig` puts an option of its own behind these, which a `--` would make a path.
    config.invocation_params = pytest.Config.InvocationParams(args=args, plugins=None, dir=pytester.path)
    assert options_of(config) == [
        *("--tb", "short", "-p", "no:randomly", "--deselect", "svc_a", "-q", "-o", "addopts="),
        *(f"--rootdir={pytester.path}", "-c", str(pytester.path / "tox.ini")),
    ]
