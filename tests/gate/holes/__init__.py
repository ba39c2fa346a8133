"""Changes that break cases and try to pass for ones that do not, and changes without effect that try the opposite."""

from __future__ import annotations

from tests.gate.holes.clients import CLIENTS
from tests.gate.holes.hidden import HIDDEN
from tests.gate.holes.hole import Hole
from tests.gate.holes.measures import MEASURES
from tests.gate.holes.places import PLACES
from tests.gate.holes.requests import REQUESTS, VOLATILE

__all__ = ["HOLES", "Hole"]
HOLES = [*REQUESTS, *VOLATILE, *CLIENTS, *HIDDEN, *PLACES, *MEASURES]
