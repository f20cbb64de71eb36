"""What holds for every test: the profiles of the property tests.

`HYPOTHESIS_PROFILE` picks one: `stable` (default: the same examples on every run), `quick` (fewer of
them) or `wide` (many, new ones on every run).
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

_COMMON = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("stable", _COMMON, max_examples=5, derandomize=True, database=None)
settings.register_profile("quick", _COMMON, max_examples=1, derandomize=True, database=None)
settings.register_profile("wide", _COMMON, max_examples=100)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "stable"))
