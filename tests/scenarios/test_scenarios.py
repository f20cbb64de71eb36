"""The vectors of the rules and other positions worth telling, one scenario each."""

from __future__ import annotations

import pytest
from support.scenarios import Scenario, check, scenarios


@pytest.mark.parametrize("scenario", scenarios())
def test_scenario(scenario: Scenario) -> None:
    check(scenario)
