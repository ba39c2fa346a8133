"""The settings of an eval set, as people write them in `eval/rubric.yaml`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    field_validator,
)

from pytest_recall.cases.gate import Blocks, Gate
from pytest_recall.cases.settings_fields import (
    Allowed,
    Confirm,
    Count,
    Dollars,
    HeaderNames,
    JudgeTable,
    Judging,
    RateLimit,
    Replay,
    Score,
    Some,
    VolatilePlaces,
    WrittenNames,
)
from pytest_recall.files.errors import RecallError, nearest
from pytest_recall.files.validation import Name
from pytest_recall.models.rate import PROGRAMS, Rate, Target, target_of
from pytest_recall.models.settings import Calls, CallWay, Prices
from pytest_recall.replay.exchange import DESCRIBING, MATCHED, STORED_RESPONSE, Kept
from pytest_recall.replay.matching import Rules, Volatile, volatile_of
from pytest_recall.replay.wire_formats import PROVIDERS

if TYPE_CHECKING:
    from pytest_recall.cases.settings_fields import Quarantine
    from pytest_recall.replay.player import PlayerSettings
    from pytest_recall.replay.redaction import Redactor

Mode = Literal["pr", "main", "nightly", "all", "observe"]
MODES: tuple[Mode, ...] = ("pr", "main", "nightly", "all", "observe")
Recording = Literal["on", "ci", "off"]


# Who may be limited by name; others are hosts.
_LIMITED = PROVIDERS | PROGRAMS.keys()


class Settings(BaseModel):
    """What a run may spend and what it holds answers to."""

    # `model_primary` is the published name, and no method of pydantic.
    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=(), defer_build=True)

    owner: str = Field(default="unknown", min_length=1, description="Who answers for this rubric: a person or a team.")
    model_primary: str | None = Field(
        default=None, description="The model that the agent under test runs on; a change of it is reported."
    )
    max_due_cases: Count = Field(
        default=25, description="Due cases in a pull-request run, the longest overdue first, beside box 1."
    )
    box_1_cases: Count | None = Field(
        default=25, description="Cases of box 1 in a pull-request run, those that failed first; null for all of them."
    )
    new_traffic_sample: Count = Field(default=5, description="Never-seen cases in a run, picked by seed.")
    nightly_cases: Some | None = Field(
        default=None,
        description="Cases in a nightly run: what is due is asked however much it is, and a night with less is filled"
        " with the oldest verdicts; without it, no night is.",
    )
    recording: Recording = Field(
        default="on",
        description="`on`: a replay of the recordings tells what a change affects, and those that were committed on its"
        " branch give verdicts on it, whose number is in the first line of the result; `ci`: only those that CI made"
        " do; `off`, for a team that records nothing: a pull request asks box 1, due and new cases, and what its change"
        " affects is not known.",
    )
    publish_answers: bool = Field(
        default=False,
        description="Whether recordings, which hold answers of models, may be pushed to a public repository; without it"
        " a pull request there is asked again at each push.",
    )
    budget: Dollars | None = Field(
        default=None,
        description="US dollars that a run may spend which names no `--budget`; an affected case for which nothing is"
        " left is not evaluated, and the check fails.",
    )
    thresholds: dict[str, Score] = Field(
        default={}, description="The lowest passing score by judge, where a case does not say."
    )
    prices: dict[Name, Prices] = Field(
        default={}, description="Prices of models by name, in place of the list prices: of your own, or by contract."
    )
    rate_limits: dict[Name, RateLimit] = Field(
        default={},
        description="What may be asked in a minute, by provider, program or `host[:port]`; calls wait for their turn.",
    )
    confirm: Confirm | None = Field(
        default=None,
        description="`2of3`: a fail is asked again, and counts if two of up to three trials fail; `evidence:35`: so is"
        " that of a case that the change affects, and that of any other is asked again up to three times and counts"
        " once all that is known of the case makes it 35 times as likely that it passes 40 % as often as before;"
        " `evidence` is the same with 35. Without it, a fail counts at once.",
    )
    no_verdict_allowed: Allowed = Field(
        default=0,
        description="How many chosen cases may have no verdict, by an error, a skip or an early end, before a run"
        " blocks a merge: a number, or below 1 a share of the chosen ones.",
    )
    quarantine_lapses: Some | None = Field(
        default=4,
        description="After how many falls from a higher box a case is quarantined, so that its failures do not fail the"
        " run, for 30 days at most; null for never.",
    )
    judge: JudgeTable = Field(
        default=Judging.model_construct(),
        description="The models that judge: which, on what, and what is asked of them first.",
    )
    baselines: WrittenNames = Field(
        default=(), description="Agents that each run asks the same cases beside the one under test, by name."
    )
    memory: Name | None = Field(
        default=None, description="The memory system under test, as a selector; without it, `sqlite-fts`."
    )
    volatile: VolatilePlaces = Field(
        default=(),
        description="What may differ from the recorded requests: a field of the body as `body.messages.*.id`, with `*`"
        " for each element of a list, a parameter of the URL as `query.ts`, or a header, which is then not compared, as"
        " `header.x-run`; or, as `{place: pattern}`, what a regular expression finds in one text: of a field, of the"
        " URL as `url`, or of a body that is no JSON as `body`.",
    )
    match_headers: HeaderNames = Field(
        default=(), description="Request headers that a call is matched by, beside those that always are."
    )
    keep_headers: HeaderNames = Field(
        default=(), description="Response headers that are recorded, beside those that always are."
    )
    calls: Calls = Field(
        default={},
        description="Calls that are not recorded and replayed like all others, by `host` or `host:port`. `ignore`: a"
        " server that is no upstream, such as a local database, is never recorded nor refused, and in no cost; the end"
        " of a run says what was called there. `telemetry`: a host, beside those that are known, is never recorded, and"
        " sent nothing in a replay. `batch`: a host, beside those of OpenAI and Anthropic, has a batch API."
        " `repeatable`, by a pattern of URLs, with a method in front if it is for that one only, such as"
        " `GET https://example.com/status*`: a replay may make the call any number of times, or not at all.",
    )
    replay: Replay = Field(
        default=Replay.model_construct(),
        description="What a replay may do beside its recordings: which programs it starts.",
    )
    secrets: tuple[Name, ...] = Field(
        default=(), description="Environment variables whose values must not be written into a cassette."
    )
    blocks: Blocks = Field(
        default="regression",
        description="What blocks a merge and turns a run red: `never`, `regression`, `failure` or `incomplete`; other"
        " failures only inform.",
    )
    gates: tuple[Gate, ...] = Field(
        default=(), description="Pass rates that scenarios or dimensions have to keep; see how to gate a merge."
    )

    @field_validator("gates")
    @classmethod
    def _one_gate_each(cls, gates: tuple[Gate, ...]) -> tuple[Gate, ...]:
        seen = set()
        for gate in gates:
            if gate.about in seen:
                raise ValueError(f"there are two gates for {gate.name}; keep one of them")
            seen.add(gate.about)
        return gates

    @field_validator("rate_limits")
    @classmethod
    def _are_targets(cls, limits: dict[str, RateLimit]) -> dict[str, RateLimit]:
        named: dict[Target, str] = {}
        for key, limit in limits.items():
            try:
                target = target_of(key, _LIMITED)
            except LookupError:
                raise ValueError(
                    f"`{key}` is not a provider, a program, or a host with its port{nearest(key, _LIMITED)}"
                ) from None
            if key in PROGRAMS and limit.tokens_per_minute is not None:
                raise ValueError(
                    f"`{key}` is a program, whose tokens are not known in advance; give it `requests_per_minute` alone"
                )
            if target in named:
                raise ValueError(f"`{key}` is the same as `{named[target]}`; give one of them")
            named[target] = key
        return limits

    def rules(self) -> Rules:
        """Return by what recorded calls are found again."""
        volatile = volatile_of(self.volatile)
        ignored = _lower(volatile.headers)
        return Rules(
            volatile.fields,
            headers=(MATCHED | _lower(self.match_headers)) - ignored,
            query=volatile.query,
            texts=volatile.texts,
            ignored=ignored,
        )

    def ignoring(self, volatile: Volatile) -> Settings:
        """Return these settings with more that may differ from recorded requests."""
        return self.model_copy(update={"volatile": (*self.volatile, *volatile.places())})

    def calls_that(self, way: CallWay) -> tuple[str, ...]:
        """Return the hosts, or the patterns of URLs, whose calls go this `way`."""
        return tuple(call for call, its in self.calls.items() if its == way)

    def player_settings(self, redact: Callable[[str], str]) -> PlayerSettings:
        """Return what these settings say to a player; `redact` takes secrets out of what it says itself."""
        programs, ignored, telemetry = self.replay.programs, self.calls_that("ignore"), self.calls_that("telemetry")
        return {"programs": programs, "ignored": ignored, "telemetry": telemetry, "redact": redact}

    def kept_headers(self) -> Kept:
        """Return which headers are recorded."""
        return Kept(
            request=MATCHED | DESCRIBING | _lower(self.match_headers),
            response=STORED_RESPONSE | _lower(self.keep_headers),
        )

    def redactor(self, environ: Mapping[str, str]) -> Redactor:
        """Return what takes the secrets of this environment, and of these settings, out of all that is written."""
        # Imported where calls are recorded or replayed: its many patterns take a while to compile.
        from pytest_recall.replay.redaction import Redactor
        from pytest_recall.replay.secrets import secret_names

        return Redactor(secret_names(environ, self.secrets), self.kept_headers())

    def rates(self, workers: int = 1) -> dict[Target, Rate]:
        """Return the rates of one of so many `workers`, an equal share. Raises RecallError where a share is nothing."""
        rates = {}
        for key, limit in self.rate_limits.items():
            rate = rates[target_of(key, _LIMITED)] = limit.of(workers)
            if 0 in rate:
                raise RecallError(
                    f"rate_limits.{key}: less than one in a minute is left for each of {workers} workers;"
                    " run fewer of them"
                )
        return rates

    @property
    def quarantine(self) -> Quarantine | None:
        """When a case is set apart; None for never."""
        if self.quarantine_lapses is None:
            return None
        from pytest_recall.cases.settings_fields import Quarantine

        return Quarantine(self.quarantine_lapses, self.owner)


DEFAULT_SETTINGS = Settings.model_construct()  # Not built, where no one writes one: that takes a while.
"""What holds where there is no `rubric.yaml`."""


def _lower(names: Iterable[str]) -> frozenset[str]:
    """Return names of headers in lower case."""
    return frozenset(name.strip().lower() for name in names)
