"""Define a gate: a pass rate that a part of the cases has to keep."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from pytest_recall.files.errors import nearest

Blocks = Literal["never", "regression", "failure", "incomplete"]
"""What blocks a merge: nothing; a failure of a case that passed before; any failure; also a case that was not run."""
Status = Literal["held", "missed", "too few verdicts"]


class Gate(BaseModel):
    """A rate that must not be fallen below."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    scenario: str | None = Field(default=None, min_length=1, description="Whose cases it is about; all without it.")
    dimension: str | None = Field(default=None, min_length=1, description="Narrows it to what is measured.")
    at_least: Annotated[float, Field(strict=True, ge=0, le=1)] = Field(
        description="The lowest share of cases that passed last, 0 to 1."
    )
    verdicts: Annotated[int, Field(strict=True, ge=1)] = Field(
        default=5, description="How many cases need a verdict; with fewer the gate neither holds nor is missed."
    )

    @property
    def name(self) -> str:
        """What it is about, in words."""
        return " and ".join(part for part in (self.scenario, self.dimension) if part) or "all cases"

    @property
    def about(self) -> tuple[str | None, str | None]:
        """What it is about: there is one gate for each of these."""
        return self.scenario, self.dimension

    def covers(self, scenario: str, dimension: str) -> bool:
        """Whether a case of this scenario and dimension counts for it."""
        return self.scenario in (None, scenario) and self.dimension in (None, dimension)


def lost_gates(gates: Iterable[Gate], names: Collection[tuple[str, str]], rubric: str) -> list[str]:
    """Return a sentence for each gate that no case is under, and so never blocks.

    `names` are the scenario and the dimension of each case; messages call the file of the gates `rubric`.
    """
    scenarios, dimensions = {scenario for scenario, _ in names}, {dimension for _, dimension in names}
    told = []
    for gate in gates:
        if any(gate.covers(*one) for one in names):
            continue
        near = "" if gate.scenario in (None, *scenarios) else nearest(str(gate.scenario), scenarios)
        near = near or ("" if gate.dimension in (None, *dimensions) else nearest(str(gate.dimension), dimensions))
        told.append(f"{rubric}: gates: no case is of `{gate.name}`{near}")
    return told
