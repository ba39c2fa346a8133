"""Persona: the agent whose memories a long-horizon benchmark is about, as people write it."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

PRINCIPAL = "principal"
"""The id of the session with the one person that the agent works for."""
Text = Annotated[str, Field(min_length=1)]
Day = Annotated[int, Field(strict=True, ge=1, le=100_000)]
FIRST, LAST = date(1900, 1, 1), date(2999, 12, 31)
"""Between these a story begins, so that each of its days, and each date around them, is one that can be told."""
Epoch = Annotated[date, Field(ge=FIRST, le=LAST)]


class Written(BaseModel):
    """A part of a persona's files. Keys that it does not know are passed over: published files have some."""

    model_config = ConfigDict(extra="ignore", frozen=True, populate_by_name=True, defer_build=True)


class Principal(Written):
    """The person that the agent works for."""

    name: Text
    role: Text
    profile: str = ""


class CastMember(Written):
    """Somebody in the story; a name that begins with `@` is an agent's."""

    name: Text
    role: str = ""
    kind: Literal["human", "agent"] | None = None

    @property
    def is_agent(self) -> bool:
        """Whether it is no person."""
        return self.kind == "agent" or self.name.startswith("@")


class Project(Written):
    """A piece of work that arcs are about."""

    id: Text
    name: Text
    description: str = ""


class SessionSpec(Written):
    """A conversation that goes on over days; an `isolated` one must not leak into others.

    It is there from `first_day` to `last_day`; the story's own dates come before the persona's.
    """

    id: Text
    kind: Literal["1to1", "group"] = "1to1"
    participants: tuple[Text, ...] = ()
    isolated: bool = False
    shared: bool = False
    first_day: Day | None = Field(default=None, alias="firstDay")
    last_day: Day | None = Field(default=None, alias="lastDay")
    sensitive_topics: tuple[Text, ...] = ()


class Persona(Written):
    """The agent: who it is, whom it serves, and in which sessions it takes part."""

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=100)]
    name: Text
    role: Text
    domain: Text
    profile: Text
    communication_style: Text
    epoch: Epoch | None = None
    company: str = ""
    institution: str = ""
    team_size: int | None = None
    principal: Principal | None = None
    cast: tuple[CastMember, ...] = ()
    projects: tuple[Project, ...] = ()
    sessions: tuple[SessionSpec, ...] = ()
    shared_knowledge: tuple[Text, ...] = Field(default=(), alias="sharedKnowledge")

    @property
    def affiliation(self) -> str:
        """The company or institution; empty without one."""
        return self.company or self.institution

    def session(self, id: str) -> SessionSpec | None:
        """Return the session with this id; None if the persona declares none."""
        return next((one for one in self.sessions if one.id == id), None)
