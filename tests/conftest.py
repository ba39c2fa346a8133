"""How invariants are tried: with no regard to how busy the machine is."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
# Each run tries others, so that a few come to many; `pytest --hypothesis-profile thorough` tries many at once.
settings.register_profile("patient", patient, max_examples=30)
settings.register_profile("thorough", patient, max_examples=500)
settings.load_profile("patient")
