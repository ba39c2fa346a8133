"""Open and close the cassettes of cases and fixtures, and fail a test that asked for what is not recorded."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from datetime import date
from functools import partial
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pytest

from pytest_recall.files import clock
from pytest_recall.files.disk import exists, open_file, remove
from pytest_recall.files.errors import MissError, RecallError, sentence_of
from pytest_recall.files.wording import plural
from pytest_recall.models.rate_limiter import RateLimits
from pytest_recall.plugin.item_state import ItemState
from pytest_recall.plugin.pytest_internals import OutcomeError, active_fixtures, fail_fixture
from pytest_recall.plugin.stash import RUN, state_of
from pytest_recall.replay.budget import Ledger, Meter, SpentBudget
from pytest_recall.replay.cassette_file import Cassette
from pytest_recall.replay.cassette_library import SHARED, Layer, Library
from pytest_recall.replay.equality import equals_of_made, headers_to_match, only_credentials
from pytest_recall.replay.exchange import Call, CallKind, Exchange, Way, error_replies
from pytest_recall.replay.fixture_answers import FIELD, digest_of_answers
from pytest_recall.replay.hosts import without_query
from pytest_recall.replay.open_tapes import CaseContext
from pytest_recall.replay.player import Player
from pytest_recall.replay.tape import CassetteMode, HeaderCheck, Made, Tape
from pytest_recall.replay.tokens import have_one_answer
from pytest_recall.replay.watch import Watch
from pytest_recall.replay.wire_formats import troubles
from pytest_recall.results.sentences import kept_line
from pytest_recall.trials.conditions import Prompts, digest_of, kept_answer, prompts
from pytest_recall.trials.trial import Outcome

if TYPE_CHECKING:
    from pytest_recall.cases.settings import Settings
    from pytest_recall.files.eval_directory import Place
    from pytest_recall.plugin.renamed import RenamedCases


class Missed(MissError, OutcomeError):  # type: ignore[misc,valid-type]  # noqa: N818
    """A miss as pytest shows it: one sentence, wherever it was raised. It is no verdict, so no failure either."""


def _missed(tape: Tape, before: int) -> Missed:
    """Return the first miss of a tape after those `before`, as an error."""
    error = Missed(tape.misses[before])
    error.unpaid = tape.lacks_money
    return error


class CassetteManager:
    """The player of this process, and the cassettes that are put into it; one that `follows` is a worker's.

    `layers` are the places that it is replayed from, where that is not just `folder`. `workers` are those that share
    what the rubric allows in a minute. `requests` is the folder into which a replay writes what was asked, a file for
    each process, if someone wants to compare it. `differing` are the misses of wider fixtures that have a recording and
    ask something else, and `lacking_headers` the names of those whose recording does not say which headers were sent.
    `started` are the programs that cases and fixtures have started.
    `to_match` has the headers that tell recorded calls apart which are matched by none, with the names of recordings,
    and `by_credential` those with a credential which alone would, as nothing of it is recorded. `ambiguous` are
    the calls of no case that a replay refuses, since they were answered in several ways, and `answered_otherwise` the
    fixtures that another process of the run had recorded with other answers.
    `base` is the folder of the recordings that a case of `runs.plan.Plan.begins_as_recorded` begins with. In the run
    `of_change`, `folder` is one of its own, which nobody is told to record into. `spelled` gives the options of hints.
    """

    def __init__(
        self,
        place: Place,
        rubric: Settings,
        mode: CassetteMode,
        folder: Path,
        *,
        run: str,
        today: date,
        max_age: int | None,
        header_check: HeaderCheck,
        follows: bool = False,
        workers: int = 1,
        watch: Watch | None = None,
        live: Iterable[CallKind] = (),
        requests: Path | None = None,
        base: Path | None = None,
        layers: Sequence[Layer] = (),
        of_change: bool = False,
        spelled: Callable[[str], str],
    ) -> None:
        self.mode = mode
        self.library = Library(folder, layers or (Layer(folder, place.name(folder)),))
        self.problems: list[str] = []
        self.differing: set[str] = set()
        self.lacking_headers: set[str] = set()
        self.started: dict[str, None] = {}
        self._staying: set[Path] = set()
        self._started_by: dict[str, dict[str, None]] = {}
        self._fixtures: dict[str, Tape] = {}
        self._digests: dict[tuple[int, int, int], str] = {}
        self.to_match: dict[str, list[str]] = {}
        self.ambiguous: set[str] = set()
        self.answered_otherwise: set[str] = set()
        self.by_credential: dict[str, list[str]] = {}
        self._header_check = header_check
        self._place = place
        self._folder_name = place.name(folder)
        self._is_usual_folder = folder == place.cassettes
        is_usual = layers or of_change or self._is_usual_folder
        self._spelled = spelled
        self._record = spelled("record") if is_usual else f"{spelled('record')}={self._folder_name}"
        self._run = run
        self._today = today
        self._max_age = max_age
        self._follows = follows
        self._requests = requests
        self._base = None if base is None else Library(base)
        self._rules = rubric.rules()
        self.redactor = rubric.redactor(os.environ)
        self.calls: list[Call] = []
        self._prices = rubric.prices
        player = Player(mode) if watch is None else watch.player
        if rubric.rate_limits:
            player.limits = RateLimits(rubric.rates(workers))
        self._watch = watch or Watch(player)
        self.player = player
        ways: dict[CallKind, Way] = dict.fromkeys(live, "live")
        self.player.know(ways, error=Missed, **rubric.player_settings(self.redactor.redacted))
        self._shared: Tape | None = None
        self._renamed: RenamedCases | None = None
        if mode != "off":
            player.repeat(rubric.calls_that("repeatable"), self._shared_tape)
        self._hear_no_ends = player.interrupter.hear_ends()

    def limit(self, budget: float, ledger_name: str) -> None:
        """Let no call begin for which `budget` US dollars do not suffice, in all processes of the run together."""
        from pytest_recall.models.prices import pricing

        ledger = Ledger(self._place.artifacts.folder / ledger_name)
        self.player.meter = Meter(budget, ledger, pricing(self._prices))

    def let_nothing_out(self) -> None:
        """Refuse also those calls that a replay makes live."""
        ways = self.player.ways
        ways.update({kind: "forbidden" for kind, way in ways.items() if way == "live"})

    @property
    def live(self) -> list[str]:
        """The kinds of calls that are made over the network though this run records or replays."""
        return [] if self.mode == "off" else [kind for kind, way in self.player.ways.items() if way == "live"]

    @property
    def spent_out(self) -> SpentBudget | None:
        """Why no further case may begin; None if one may."""
        return None if self.player.meter is None else self.player.meter.closed()

    def close(self) -> None:
        """Take the player away from the clients. What is still open, as the run was interrupted, stays a draft."""
        if self.player.meter is not None and not self._follows:
            self.player.meter.close()
        if self.player.batches is not None:
            self.player.batches.close()
        for tape in self.player.clear():
            tape.close()
        self._hear_no_ends()
        self._watch.close()

    # What is open

    def open(self, item: pytest.Item, lane: CaseContext | None = None) -> None:
        """Open the cassette of the case that `item` runs, for one attempt at it; in a `lane`, if it has one."""
        state = state_of(item)
        state.outcome = Outcome.ERROR
        state.tape = tape = self._tape_of(item)
        changes = item.config.stash[RUN].plan.changes if self.player.meter is not None else None
        if changes is not None and (found := changes.findings.get(state.case_id)) is not None:
            tape.answer_tokens = found.answer_tokens or None
        self.player.push(tape, lane)

    def shut(self, item: pytest.Item) -> None:
        """Close the cassette of `item`; its recording takes its place if there was a verdict."""
        state = state_of(item)
        tape = _tape(state)
        self.player.pop(tape)
        if tape.mode != "off":
            tape.close()
            if tape.cassette is not None and _repeat(item) == 1:
                self.library.use(tape.cassette.path)
            # A row comes to its verdict at its end, an ordinary test may fail before it.
            all_asked = tape.passed or state.case is not None
            whole = state.outcome.is_verdict and not tape.misses
            came_to = {**_came_to(item, tape), **({FIELD: tape.fixtures} if tape.fixtures else {})}
            self._finish(tape, whole=whole, all_asked=all_asked, came_to=came_to)
            if whole and state.outcomes is None:
                self.forget(item, 1)
        self._account(tape)
        if self.player.batches is not None:
            self.player.batches.settle(tape, again=bool(tape.misses))

    @contextmanager
    def answerable(self, item: pytest.Item, when: str) -> Iterator[None]:
        """End the phase `when` of a test with what its tape has against it, whatever the test made of that itself.

        What is recorded of the time after the call is asked for at the end of the teardown, all else at that of the
        call. Between the two, hooks of reports may call.
        """
        tape = _tape(state_of(item))
        is_call, is_teardown = when == "call", when == "teardown"
        before = tape.reported
        tape.teardown = tape.teardown or is_teardown
        try:
            # What is torn down is not interrupted: fixtures have to come to their end.
            with nullcontext() if is_teardown else self.player.waiting():
                if is_call:
                    self._check_fixtures(item, tape)
                yield
        except BaseException:
            self._hear_end(item, tape, when)
            if tape.misses[before:]:
                raise _missed(tape, before) from None
            if tape.left_behind:
                raise Missed(tape.left_behind[0]) from None
            raise
        else:
            self._hear_end(item, tape, when)
            tape.passed = tape.passed or is_call
            if tape.passed and tape.mode == "replay" and not tape.misses:
                tape.misses += tape.left_over()
            if tape.misses[before:]:
                raise _missed(tape, before) from None
        finally:
            tape.teardown = tape.teardown or is_call
            tape.reported = len(tape.misses)

    def _hear_end(self, item: pytest.Item, tape: Tape, when: str) -> None:
        self.player.hear_forked()
        if when == "call":
            # Not later: a fixture whose last case this is ends before the case does.
            self._compare_fixtures(item, tape)

    def _check_fixtures(self, item: pytest.Item, tape: Tape) -> None:
        """Raise Missed where a case was recorded with other answers to its fixtures than are replayed to them."""
        before = len(tape.misses)
        if tape.mode == "replay":
            self._compare_fixtures(item, tape)
        if tape.misses[before:]:
            raise _missed(tape, before)

    def _compare_fixtures(self, item: pytest.Item, tape: Tape) -> None:
        """Note what the fixtures of a case were answered; in a replay it is a miss if that was something else."""
        known = tape.other_fixture
        tape.fixtures = self._digests_for(item)
        if tape.mode == "replay" and (other := tape.other_fixture) and not known:
            tape.misses.append(
                f"{tape.name}: was recorded with other answers to the fixture `{other}` than are recorded of it now;"
                f" `pytest -p recall '{item.nodeid}' {self._spelled('record')}=missing` records it with these"
            )

    def _tape_of(self, item: pytest.Item) -> Tape:
        if self.mode == "off":
            return Tape("", "off", self._rules, self.redactor, "")
        asked = f" {self._spelled('baselines')} '{_arm(item)}'" if _arm(item) else ""
        hint = f"`pytest -p recall '{item.nodeid}'{asked} {self._record}` records it"
        case_id = state_of(item).case_id
        about: dict[str, Any] = {"case": case_id, "scenario": _scenario(item)}
        if asked:
            about["baseline"] = _arm(item)
        repeat = _repeat(item)
        if repeat > 1:
            about["repeat"] = repeat
        # A fail is confirmed by answers that do not rest on the same recording: later trials are live.
        may_begin = self._base is not None and repeat == 1 and not asked
        begins = may_begin and item.config.stash[RUN].plan.begins_as_recorded(case_id)
        base = self._base.of_case(case_id, _scenario(item)) if self._base is not None and begins else None
        tape = self._tape(self._path(item, repeat), about, hint, base)
        if state_of(item).case is not None and repeat == 1 and not asked and self._is_usual_folder:
            tape.renamed = partial(self._if_renamed, item)
        return tape

    def _if_renamed(self, item: pytest.Item) -> str:
        if self._renamed is None:
            from pytest_recall.plugin.options import patterns
            from pytest_recall.plugin.renamed import RenamedCases

            declared = item.config.stash[RUN].plan.declared
            self._renamed = RenamedCases(self._place, self.library, patterns(item.config), declared)
        return self._renamed.remedy(state_of(item).case_id)

    def _path(self, item: pytest.Item, repeat: int) -> Path:
        return self.library.of_case(state_of(item).case_id, _scenario(item), repeat, _arm(item))

    def asks_again(self, case_id: str, scenario: str) -> bool:
        """Whether a fail may be asked again to be sure of it: not if just its first trial is recorded."""
        if self.mode != "replay":
            return True
        first, second = (self.library.sources(self.library.of_case(case_id, scenario, repeat)) for repeat in (1, 2))
        return bool(second or not first)

    def has_recording(self, case_id: str, scenario: str) -> bool:
        """Whether a case is recorded."""
        return exists(self.library.source(self.library.of_case(case_id, scenario)))

    def is_recorded(self, item: pytest.Item) -> bool:
        """Whether the case of an item is recorded."""
        return exists(self.library.source(self._path(item, 1)))

    def recorded_trials(self, item: pytest.Item) -> int:
        """Return how many trials of the case in a row are recorded, 1 at least."""
        count = 1
        while exists(self.library.source(self._path(item, count + 1))):
            count += 1
        return count

    def forget(self, item: pytest.Item, after: int) -> None:
        """Delete recordings of later trials than the `after`-th, which a new recording did not come to.

        They stay where that of an earlier one does.
        """
        if self.mode != "record" or not self._staying.isdisjoint(
            self._path(item, repeat) for repeat in range(1, after + 1)
        ):
            return
        while True:
            after += 1
            path = self._path(item, after)
            if not exists(path):
                return
            remove(path)

    @contextmanager
    def fixture(self, definition: pytest.FixtureDef[Any], request: pytest.FixtureRequest) -> Iterator[None]:
        """Open the cassette of a fixture that is wider than a test while it is set up, and again for its end."""
        name, scope = definition.argname, definition.scope
        # One for each time that it is set up: for each module, if that is its scope.
        node = request.node.nodeid
        where = f"{definition.baseid}/{getattr(request, 'param_index', 0)}" + (f"/{node}" if node else "")
        path = self.library.of_fixture(name, scope, where)
        hint = f"`{self._record}` with a test that uses the fixture `{name}` records it"
        tape = self._tape(path, {"fixture": name, "scope": scope}, hint)

        def end() -> None:
            self.player.pop(tape)
            tape.close()
            # Workers may agree that one of them asks, and hands on what it got: who asked nothing need not have.
            all_asked = bool(tape.made) or not self._follows
            if self.mode == "replay" and tape.passed and not tape.misses and all_asked:
                tape.misses += tape.left_over()
            self._finish(tape, whole=tape.passed and not tape.misses, shared=True, all_asked=all_asked)
            self.problems += tape.misses
            self._account(tape)

        # Finalizers run last in, first out: these two stand around the fixture's own.
        request.addfinalizer(end)
        before = len(tape.misses)
        try:
            with self.player.playing(tape):
                yield
                self.player.hear_forked()
            if self.mode == "replay" and tape.misses[before:]:
                # Whatever the fixture made of it, what it returns is not what is recorded.
                error = Missed(tape.misses[before])
                fail_fixture(definition, error)
                raise error
        finally:
            if tape.difference is not None and tape.cassette is not None:
                self.differing.update(tape.misses)
            if tape.lacks_headers:
                self.lacking_headers.add(name)
            self._fixtures.pop(name, None)
            if tape.made:
                self._fixtures[name] = tape
            if tape.started:
                self._started_by.setdefault(name, {}).update(tape.started)
        tape.passed = True
        definition.addfinalizer(lambda: self.player.push(tape))

    def _shared_tape(self) -> Tape:
        """Open the tape of the calls that all cases share, for the first of them."""
        self._shared = self._tape(self.library.shared, {"fixture": "calls", "scope": SHARED}, "")
        self.problems += self._shared.misses
        return self._shared

    def finish_shared(self) -> None:
        """Write down the calls that all cases share, beside those that are known already."""
        self.player.hear_forked()
        if self._shared is not None:
            self._shared.close()
            self._finish(self._shared, whole=True)
            self._look_for_several_answers()

    def _look_for_several_answers(self) -> None:
        """Take in which calls that no case has made have several answers among those that all cases share."""
        shared = self.player.repeatable
        path = self.library.source(self.library.shared)
        if self.mode == "replay" or shared is None or not shared.outside or not exists(path):
            return
        try:
            cassette = Cassette(path, self.library.name(path), self._rules)
            tape = Tape(cassette.name, "replay", self._rules, self.redactor, "", cassette)
            several = [request for request in shared.outside if not have_one_answer(tape.answers(request))]
        except RecallError as error:
            self.problems.append(sentence_of(error))
            return
        self.ambiguous.update(f"{one.method} {self.redactor.redacted(without_query(one.url))}" for one in several)

    def _tape(self, path: Path, about: dict[str, Any], hint: str, of_base: Path | None = None) -> Tape:
        rules = self._rules
        cassettes: list[Cassette] = []
        problems: list[str] = []
        base: Cassette | None = None
        if self.mode != "off":
            try:
                if self.mode != "replay":
                    self.library.check(path)
                if self.mode == "missing":
                    self.library.recover(path, rules)
                for source in self.library.sources(path) if self.mode != "record" else ():
                    cassettes.append(Cassette(source, self.library.name(source), rules))
                if cassettes:
                    problems += self._checked(cassettes[0], about)
                if of_base is not None and exists(of_base):
                    base = Cassette(of_base, of_base.name, rules)
            except (RecallError, OSError) as error:
                problems.append(sentence_of(error))
        draft = self.library.new_draft(path) if self.mode in ("record", "missing") else None
        if draft is not None:
            about = {**about, "run": self._run, "recorded_at": clock.now().isoformat(timespec="seconds")}
        return Tape(
            name=cassettes[0].name if cassettes else self.library.name(path),
            mode=self.mode,
            rules=rules,
            redactor=self.redactor,
            hint=hint,
            cassette=None if problems or not cassettes else cassettes[0],
            # One that was recorded under other rules is recorded anew, as a whole.
            base=base if base is not None and base.is_current and base.rules is rules else None,
            older=() if problems else tuple(one for one in cassettes[1:] if not self._checked(one, about)),
            draft_path=draft,
            path=path,
            header=about,
            misses=problems,
            live=frozenset(kind for kind, way in self.player.ways.items() if way != "cassette"),
            header_check=self._header_check,
            requests=None if self._requests is None else [],
            repeatable=None if about.get("scope") == SHARED else self.player.repeatable,
            passes_by=self.player.passes_by,
        )

    def _checked(self, cassette: Cassette, about: dict[str, Any]) -> list[str]:
        for key in ("case", "fixture", "baseline"):
            if cassette.header.get(key) != about.get(key):
                return [f"{cassette.name}: is the recording of `{cassette.header.get(key)}`; record this one again"]
        if cassette.header.get("scope") == SHARED:
            return []  # How old it is says nothing of what models answer.
        recorded = str(cassette.header.get("recorded_at", ""))[:10]
        try:
            age = (self._today - date.fromisoformat(recorded)).days
        except ValueError:
            return [f"{cassette.name}:1: does not say when it was recorded; record it again"]
        if self.mode == "replay" and self._max_age is not None and age > self._max_age:
            return [
                f"{cassette.name}: recorded {plural(age, 'day')} ago, more than the {self._max_age} allowed;"
                f" record it again with {self._record}"
            ]
        return []

    def _finish(
        self,
        tape: Tape,
        *,
        whole: bool,
        shared: bool = False,
        all_asked: bool = False,
        came_to: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        """Let what was recorded take its place, if the test came to its end; otherwise the draft stays.

        What was recorded before and not asked for goes if this one has `all_asked`. `came_to` is the answer and the
        outcome of the case, and the digests of its fixtures. Calls that all cases share are added to those that are
        there.
        """
        # A thread may still have something to say later, which is then said at the end of the run.
        problems, tape.problems = tape.problems, self.problems
        self.problems += problems
        draft, path, for_all = tape.draft_path, tape.path, tape.header.get("scope") == SHARED
        if draft is None or path is None or not whole or (problems and not for_all):
            return
        try:
            news = tape.recorded()
            calls = news if for_all or self.mode == "record" else _with_earlier(tape, news, all_asked)
            why = "" if calls is None or for_all or not exists(path) else tape.stays(calls) or self._lost(tape, news)
            if why:
                self._staying.add(path)
                self.problems.append(why)
                remove(draft)
                return
            for unmatched in () if for_all else headers_to_match(news, tape.known_rules):
                self.to_match.setdefault(unmatched, []).append(tape.name)
            for credential in () if for_all else only_credentials(tape.made_live(), tape.known_rules, self.redactor):
                self.by_credential.setdefault(credential, []).append(tape.name)
            if for_all:
                self._take_over(tape, path)
                self.library.share(path, tape.header, news, self._rules)
            elif calls is not None:
                # Of a recording that was made in several runs, the oldest part says how old it is.
                oldest = min((exchange.at for exchange in calls), default=tape.header["recorded_at"])
                header = {**tape.header, "recorded_at": oldest, **came_to}
                if not self.library.finish(path, header, calls, tape.known_rules, shared=shared):
                    self.answered_otherwise.add(tape.label)
            else:
                self._take_over(tape, path)
            remove(draft)
            if self.mode == "record":
                for left in self.library.left_behind(path):
                    remove(left)
        except (RecallError, OSError) as error:
            self.problems.append(_not_written(tape, error, self._place.name(draft)))

    def _lost(self, tape: Tape, news: Sequence[Exchange]) -> str:
        """Return why an earlier recording stays that has answers, where the provider failed now; empty if it does not.

        An agent that goes on without an answer may come to a verdict all the same.
        """
        ends = self._outages(news) if self.mode == "record" else []
        if not ends or tape.path is None:
            return ""
        try:
            earlier = list(Cassette(tape.path, tape.name, self._rules).exchanges())
        except RecallError:
            return ""
        return "" if self._outages(earlier) else kept_line(tape.name, ends)

    def _outages(self, calls: Sequence[Exchange]) -> list[str]:
        """Return the outages in which calls ended."""
        return error_replies(
            Call(kind=call.kind, source="live", trouble=end, retried=retried)
            for call, (end, retried) in zip(calls, self._ends(calls), strict=True)
        )

    def _ends(self, calls: Sequence[Exchange]) -> list[tuple[str, bool]]:
        return troubles(calls, partial(equals_of_made, rules=self._rules, redactor=self.redactor))

    def _take_over(self, tape: Tape, path: Path) -> None:
        """On the default branch let the recording of a run on a branch that was replayed take its place at `path`."""
        if tape.cassette is not None and self._is_usual_folder:
            self.library.take_over(tape.cassette.path, path)

    def _account(self, tape: Tape) -> None:
        """Take in the calls that belong to no trial: those of wider fixtures, and those made after the verdict."""
        self._write_requests(tape)
        self.started |= tape.started
        self.calls += (self._call(made, self._read(made)) for made in tape.made[tape.accounted :])
        tape.accounted = len(tape.made)

    def _write_requests(self, tape: Tape) -> None:
        """Write down what was asked of a tape since this was last done, where someone compares it."""
        if not tape.requests or self._requests is None:
            return
        from pytest_recall.replay.equality import seen_by
        from pytest_recall.replay.varying import to_line

        requests, tape.requests = tape.requests, []
        owner = str(tape.header.get("case") or f"fixture {tape.header.get('fixture')}")
        # Which texts vary is decided with the words beside them, and so what is ignored of them already stays here.
        rules = tape.known_rules.without_texts()
        lines = "".join(f"{to_line(owner, seen_by(rules, request))}\n" for request in requests)
        with open_file(self._requests / f"{os.getpid()}.jsonl", "ab") as file:
            file.write(lines.encode("utf-8", "surrogatepass"))

    def _call(self, made: Made, exchange: Exchange | None) -> Call:
        from pytest_recall.models.prices import call_of

        if made.call is not None:
            return made.call
        if exchange is None:
            return Call(kind=made.kind, source=made.source)
        return call_of(exchange, made.kind, made.source, self._prices)

    def _read(self, made: Made) -> Exchange | None:
        try:
            return made.exchange()
        except RecallError as error:
            # What was asked is read here for the first time; what was answered had been whole.
            if str(error) not in self.problems:
                self.problems.append(sentence_of(error))
            return None

    def exchanges_of(self, tape: Tape) -> list[tuple[Made, Exchange | None]]:
        """Return what belongs to the trial which has come to its end now; None for what cannot be read."""
        tape.accounted = len(tape.made)
        return [(made, self._read(made)) for made in tape.made[: tape.accounted]]

    def started_for(self, item: pytest.Item) -> tuple[str, ...]:
        """Return the programs that a case has started, and wider fixtures that it uses."""
        fixtures = (self._started_by.get(name, {}) for name in (_fixtures_in(item) if self._started_by else ()))
        return tuple(dict.fromkeys([*_tape(state_of(item)).started, *chain.from_iterable(fixtures)]))

    def _fixtures_of(self, item: pytest.Item) -> Iterator[tuple[str, Tape]]:
        """Yield the wider fixtures that a case uses, with what each was answered when it was last set up."""
        names = _fixtures_in(item) if self._fixtures else ()
        return ((name, self._fixtures[name]) for name in names if name in self._fixtures)

    def _digests_for(self, item: pytest.Item) -> dict[str, str]:
        """Return a digest of the answers to each wider fixture that a case uses, of those that got any."""
        digests: dict[str, str] = {}
        for name, tape in self._fixtures_of(item):
            # A token in an answer is known only when a call of a case carries it.
            key = id(tape), len(tape.made), len(self.redactor.carried)
            if key not in self._digests:
                self._digests[key] = digest_of_answers([*tape.served(), *tape.recorded()])
            digests |= {name: self._digests[key]} if self._digests[key] else {}
        return digests

    def rests_on_fixtures(self, item: pytest.Item) -> bool:
        """Whether a wider fixture that a case uses has answers that were replayed."""
        return any(_has_replayed(fixture) for _, fixture in self._fixtures_of(item))

    def calls_of(self, read: Sequence[tuple[Made, Exchange | None]]) -> tuple[Call, ...]:
        """Return the calls that these were, each with how it ended."""
        if not read:
            return ()
        ends = iter(self._ends([exchange for _, exchange in read if exchange is not None]))
        calls = []
        for made, exchange in read:
            end, retried = ("", False) if exchange is None else next(ends)
            call = self._call(made, exchange)
            calls.append(call._replace(trouble=end, retried=retried) if end else call)
        return tuple(calls)

    def prompts_of(self, read: Iterable[tuple[Made, Exchange | None]], words: Iterable[str]) -> Prompts:
        """Return what was sent to models on behalf of the agent, without the case's own `words`."""
        asked = sorted((made.seq, x.request) for made, x in read if x is not None and made.kind != "judge")
        return prompts((request for _, request in asked), words, self._rules) if asked else Prompts()


def _fixtures_in(item: pytest.Item) -> Iterable[str]:
    """Return the names of the fixtures that a case has used so far, also those that it has asked for by name."""
    return active_fixtures(item) if isinstance(item, pytest.Function) else getattr(item, "fixturenames", ())


def _has_replayed(tape: Tape) -> bool:
    return any(made.source == "replayed" and made.kind != "judge" for made in tape.made)


def _with_earlier(tape: Tape, news: list[Exchange], all_asked: bool) -> list[Exchange] | None:
    """Return the calls of a recording that `news` are to join, with them; None if it stays as it is.

    It does where nothing is new but tokens that are recorded as well, and its fixtures got the same answers.
    """
    unused = tape.unused()
    # A call that was given up may be asked for in one run and not in another, and so may one of a kind that is live.
    rest = [exchange for exchange in unused if tape.may_be_left(exchange) or not all_asked]
    fetched = sum(made.is_token for made in tape.made)
    if len(news) <= fetched and len(rest) == len(unused) and not (tape.is_of_base or tape.other_fixture):
        return None
    return [*tape.served(), *news, *(exchange._replace(seq=tape.reserve()) for exchange in rest)]


def _tape(state: ItemState) -> Tape:
    assert state.tape is not None, "a case has a cassette from its setup to its end"
    return state.tape


def _not_written(tape: Tape, error: Exception, draft: str) -> str:
    return f"{tape.name}: not written ({error}); its calls are in {draft}"


def _came_to(item: pytest.Item, tape: Tape) -> dict[str, str]:
    """Return what a recording says of the answer that was made of it; nothing where a test gives none."""
    state = state_of(item)
    result = state.result
    if tape.draft_path is None or result is None or result.answer is None or result.outcome is not state.outcome:
        return {}
    from pytest_recall.replay.secrets import suspicious

    answer = result.answer.clean(tape.redactor.text)
    # The calls are searched before they are written, but an agent may have what it says from elsewhere.
    said = {} if suspicious(answer.text) else {"answer": kept_answer(answer.text)}
    return {"outcome": result.outcome.value, **said, "digest": digest_of(answer)}


def _repeat(item: pytest.Item) -> int:
    return len(state_of(item).outcomes or ()) + 1


def _arm(item: pytest.Item) -> str:
    return state_of(item).arm


def _scenario(item: pytest.Item) -> str:
    case = state_of(item).case
    if case is not None:
        return str(case.scenario)
    mark = item.get_closest_marker("recall")
    return str(mark.kwargs.get("scenario", "")) if mark else ""
