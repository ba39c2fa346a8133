"""The settings of an eval set, as people write them in `eval/rubric.yaml`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Literal

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
    VolatilePattern,
    WrittenNames,
)
from pytest_recall.files.errors import RecallError, nearest
from pytest_recall.files.validation import Name
from pytest_recall.models.rate import PROGRAMS, Rate, Target, target_of
from pytest_recall.models.settings import Batching, CallPatterns, Hosts, Prices
from pytest_recall.replay.exchange import DESCRIBING, MATCHED, STORED_RESPONSE, CallKind, Kept, Way
from pytest_recall.replay.matching import QUESTION, Rules, VolatileText
from pytest_recall.replay.wire_formats import PROVIDERS

if TYPE_CHECKING:
    from pytest_recall.cases.settings_fields import Quarantine
    from pytest_recall.replay.redaction import Redactor
    from pytest_recall.replay.varying import Volatile

Mode = Literal["pr", "main", "nightly", "all", "observe"]
MODES: tuple[Mode, ...] = ("pr", "main", "nightly", "all", "observe")
Recording = Literal["on", "off"]


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
    mode: Mode = Field(default="pr", description="The mode of a run that does not name one.")
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
        description="`on`: a replay of the recordings tells what a change affects; `off`, for a team that records"
        " nothing: a pull request asks box 1, due and new cases, and what its change affects is not known.",
    )
    publish_answers: bool = Field(
        default=False,
        description="Whether recordings, which hold answers of models, may be pushed to a public repository; without it"
        " a pull request there is asked again at each push.",
    )
    branch_recordings: bool = Field(
        default=True,
        description="Whether recordings that were committed on the branch of a change, and not made by CI for it, give"
        " verdicts on it; their number is in the first line of the result.",
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
    outage_limit: Some | None = Field(
        default=5,
        description="After so many trials in a row that a provider keeps from a verdict in the same way, a run asks no"
        " more: it is down, refuses the key or is out of quota; null for never.",
    )
    no_verdict_allowed: Allowed = Field(
        default=0,
        description="How many chosen cases may have no verdict, by an error, a skip or an early end, before a run"
        " blocks a merge: a number, or below 1 a share of the chosen ones.",
    )
    quarantine_lapses: Annotated[int, Field(strict=True, ge=1)] | None = Field(
        default=4,
        description="After how many falls from a higher box a case is quarantined, so that its failures do not fail the"
        " run; null for never.",
    )
    quarantine_days: Some = Field(
        default=30, description="For how many days at most; from then on its fails count like any other's."
    )
    judge: JudgeTable = Field(
        default=Judging.model_construct(),
        description="The models that judge: which, on what, and what is asked of them first.",
    )
    baselines: WrittenNames = Field(
        default=(), description="Agents that each run asks the same cases beside the one under test, by name."
    )
    baseline_window: Annotated[int, Field(strict=True, ge=1)] = Field(
        default=80_000,
        description="Tokens, estimated as a third of the characters, of the turns that the baselines `tail-window` and"
        " `compaction` send as they are.",
    )
    memory: Name | None = Field(
        default=None, description="The memory system under test, as a selector; without it, `sqlite-fts`."
    )
    memory_reset: bool = Field(
        default=False, description="Whether a memory that may hold something else may be reset, which deletes it."
    )
    memory_probe: Count = Field(
        default=5, description="How many units are asked back of what a case stores, to see whether they are there."
    )
    cassette_kinds: dict[CallKind, Way] = Field(
        default={}, description="What each kind of call does: goes by the cassette, always live, or not at all."
    )
    volatile_fields: tuple[Name, ...] = Field(
        default=(), description="Fields of request bodies that may differ from the recorded ones, as dotted paths."
    )
    volatile_query: tuple[Name, ...] = Field(
        default=(), description="Parameters of URLs that may differ from the recorded ones, by name."
    )
    volatile_text: tuple[VolatilePattern, ...] = Field(
        default=(),
        description="What may differ within the text of one field of a request, such as a date: the field, and a"
        " regular expression.",
    )
    match_headers: HeaderNames = Field(
        default=(), description="Request headers that a call is matched by, beside those that always are."
    )
    ignore_headers: HeaderNames = Field(
        default=(), description="Request headers that are not compared at all, though they would be by default."
    )
    keep_headers: HeaderNames = Field(
        default=(), description="Response headers that are recorded, beside those that always are."
    )
    drop_headers: HeaderNames = Field(
        default=(), description="Response headers that are not recorded, though they would be by default."
    )
    ignore_hosts: Hosts = Field(
        default=(),
        description="Hosts that are not an upstream, such as a local database: never recorded nor refused, and in no"
        " cost. The end of a run says what was called there.",
    )
    repeatable_urls: CallPatterns = Field(
        default=(),
        description="Calls that a replay may make any number of times, or not at all, as patterns of URLs, each with a"
        " method in front if it is for that one only, such as `GET https://example.com/status*`.",
    )
    telemetry_hosts: Hosts = Field(
        default=(),
        description="Hosts that take telemetry, beside those that are known: never recorded, and sent nothing in a"
        " replay.",
    )
    replay: Replay = Field(
        default=Replay.model_construct(),
        description="What a replay may do beside its recordings: which programs it starts.",
    )
    secrets: tuple[Name, ...] = Field(
        default=(), description="Environment variables whose values must not be written into a cassette."
    )
    batch: Batching = Field(
        default=Batching.model_construct(), description="How `--batch` sends calls through the providers' batch APIs."
    )
    max_cassette_age: Count | None = Field(
        default=None, description="Days after which a cassette is too old to be replayed; without it, none is."
    )

    blocks: Blocks = Field(
        default="regression",
        description="What blocks a merge and turns a run red: `never`, `regression`, `failure` or `incomplete`; other"
        " failures only inform.",
    )
    due_blocks: bool = Field(
        default=False,
        description="Whether a pull request is blocked as well by the confirmed fail of a case that its change does not"
        " affect, and that was asked since it is due, in box 1 or new.",
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

    @field_validator("volatile_fields")
    @classmethod
    def _leaves_the_question(cls, paths: tuple[str, ...]) -> tuple[str, ...]:
        for path in paths:
            if QUESTION.fullmatch(path):
                raise ValueError(
                    f"`{path}` is what is asked, and any answer would fit; name the part that differs, such as"
                    " `messages.*.id`"
                )
        return paths

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
        ignored = _lower(self.ignore_headers)
        texts = (VolatileText(one.field, one.pattern) for one in self.volatile_text)
        return Rules(
            self.volatile_fields,
            headers=(MATCHED | _lower(self.match_headers)) - ignored,
            query=self.volatile_query,
            texts=texts,
            ignored=ignored,
        )

    def ignoring(self, volatile: Volatile) -> Settings:
        """Return these settings with more that may differ from recorded requests."""
        texts = (VolatilePattern(field=one.field, pattern=one.pattern) for one in volatile.texts)
        more: Mapping[str, Iterable[object]] = {
            "volatile_fields": volatile.fields,
            "volatile_query": volatile.query,
            "volatile_text": tuple(texts),
            "ignore_headers": volatile.headers,
        }
        return self.model_copy(
            update={name: (*getattr(self, name), *values) for name, values in more.items() if values}
        )

    def kept_headers(self) -> Kept:
        """Return which headers are recorded."""
        return Kept(
            request=MATCHED | DESCRIBING | _lower(self.match_headers),
            response=STORED_RESPONSE | _lower(self.keep_headers),
            dropped=_lower(self.drop_headers),
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

        return Quarantine(self.quarantine_lapses, self.owner, self.quarantine_days)


DEFAULT_SETTINGS = Settings.model_construct()  # Not built, where no one writes one: that takes a while.
"""What holds where there is no `rubric.yaml`."""


def _lower(names: Iterable[str]) -> frozenset[str]:
    """Return names of headers in lower case."""
    return frozenset(name.strip().lower() for name in names)
