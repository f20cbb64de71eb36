"""The event loop of the loads: that of uvloop where it is installed, as servers have it."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Coroutine
from typing import Any

from sixledger.service.process import loop_factory


def tell(found: Coroutine[Any, Any, Any]) -> None:
    """Run it, and print what it returns as a line of JSON."""
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        sys.stdout.write(json.dumps(runner.run(found)) + "\n")
