"""The distributions, built once, and two environments with the wheel."""

from __future__ import annotations

import pytest
from support.wheel import Distributions, Environment


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Distributions:
    """Wheel and source distribution of the working tree."""
    return Distributions.build(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="session", params=["newest", "oldest"])
def base(request: pytest.FixtureRequest, built: Distributions, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """Nothing but `pip install sixledger`, with the newest and the oldest dependencies that are declared."""
    floor = ["protobuf==6.30.2", "cryptography==44.0.0"] if request.param == "oldest" else []
    return Environment(tmp_path_factory.mktemp("base"), built.requirement(), *floor)


@pytest.fixture(scope="session")
def full(built: Distributions, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """`pip install sixledger[all]`."""
    return Environment(tmp_path_factory.mktemp("full"), built.requirement("all"))
