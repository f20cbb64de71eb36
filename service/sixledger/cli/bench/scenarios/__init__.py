"""What the load does, scenario by scenario."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from sixledger.cli.bench.found import Found
from sixledger.cli.bench.scenarios.commands import commands
from sixledger.cli.bench.scenarios.lives import churn, growth
from sixledger.cli.bench.scenarios.session import Session
from sixledger.cli.bench.scenarios.storm import reconnect_storm
from sixledger.cli.bench.scenarios.streams import idle, watchers

#: By name.
SCENARIOS: dict[str, Callable[[Session], Awaitable[Found]]] = {
    "unary": commands,
    "play": commands,
    "shared": commands,
    "cold": commands,
    "watchers": watchers,
    "idle": idle,
    "reconnect-storm": reconnect_storm,
    "churn": churn,
    "growth": growth,
}
