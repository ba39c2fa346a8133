"""Plugins that put a reporter of their own in the place of pytest's, such as pytest-tldr."""

from __future__ import annotations

import pytest

from tests.helpers.project import ECHOING, case, failing

# As pytest-tldr does: the summary is asked for within the hook in which the run ends, and not for each exit code.
BRIEF = """
import pytest


class Brief:
    def __init__(self, config):
        self.config = config
        self._tw = config.get_terminal_writer()
        self.reportchars, self.hasmarkup = None, False
        self.stats = {}

    def section(self, title, sep="=", **markup):
        self._tw.sep(sep, title, **markup)

    def line(self, text, **markup):
        self._tw.line(text, **markup)

    def write(self, text, **markup):
        self._tw.write(text)

    write_line = line

    def write_sep(self, sep, title=None, **markup):
        self._tw.sep(sep, title)

    def ensure_newline(self):
        pass

    def rewrite(self, line, **markup):
        pass

    @pytest.hookimpl(WHEN)
    def pytest_sessionfinish(self, exitstatus):
        self.line("the tests have ended")
        if exitstatus in (0, 1):
            self.config.hook.pytest_terminal_summary(terminalreporter=self, exitstatus=exitstatus, config=self.config)


@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    if not hasattr(config, "workerinput"):
        brief = Brief(config)
        config.pluginmanager.unregister(name="terminalreporter")
        config.pluginmanager.register(brief, "terminalreporter")
"""
STOPPING = """
@pytest.fixture
def agent():
    def answer(question):
        raise KeyboardInterrupt

    return answer
"""
PROJECT = ECHOING.with_cases(case("a"), failing("b")).with_files({"conftest.py": BRIEF.replace("WHEN", "")})


def test_the_scorecard_is_shown_once(pytester: pytest.Pytester) -> None:
    result = PROJECT.at(pytester).run("-p", "recall", "eval", "-n1")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    ended = result.outlines.index("the tests have ended")
    titles = [place for place, line in enumerate(result.outlines) if "= recall scorecard =" in line]
    assert len(titles) == 1
    assert titles[0] > ended
    result.stdout.fnmatch_lines(["*1 new failure, 1 passed*", "  b (new → box 1)", "details: *"])


def test_it_is_shown_where_no_summary_is_asked_for(pytester: pytest.Pytester) -> None:
    checkout = PROJECT.with_cases(case("a", input="stop"), case("b")).with_agent(STOPPING).at(pytester)
    result = checkout.run("-p", "recall", "eval")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*= recall scorecard =*", "partial: 2 of 2 chosen cases not run: interrupted"])


def test_one_that_asks_later_has_it_once_too(pytester: pytest.Pytester) -> None:
    late = BRIEF.replace("WHEN", "wrapper=True").replace('self.line("the', 'result = yield\n        self.line("the')
    late = late.replace("\n\n\n@pytest.hookimpl(trylast", "\n        return result\n\n\n@pytest.hookimpl(trylast")
    result = PROJECT.with_files({"conftest.py": late}).at(pytester).run("-p", "recall", "eval")
    assert sum("recall scorecard" in line for line in result.outlines) == 1
