"""A server process takes up changed keys when it is told to."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from sixledger.client import Client
from sixledger.service import key_life
from sixledger.service.keyring import Keyring
from support.command_line import environment

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="there is no SIGHUP on Windows")


def test_hangup_makes_a_server_look_at_its_keys(tmp_path: Path) -> None:
    """At once, not only at the next regular look; the process goes on, and its clients too."""
    path = tmp_path / "keys.json"
    Keyring.generate().save(path)
    command = ["serve", "--listen", "127.0.0.1:0", "--store", "memory:", "--key", path, "--origin", "signal.test"]
    environment_ = environment(tmp_path) | {"SIXLEDGER_KEY_TICK_S": "1000"}
    process = subprocess.Popen(
        [sys.executable, "-m", "sixledger.cli.main", *map(str, command)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment_,
    )
    try:
        assert process.stdout is not None
        lines = iter(process.stdout.readline, "")
        address = next(found[1] for line in lines if (found := re.search(r"listening on\s+(\S+)", line)))
        with Client(address) as client:
            old = client.catalog.origin()
            now = time.time_ns() // 1000
            changed = key_life.rotate(Keyring.load(path), "signal.test", now, now)
            changed.keyring.save(path, over=True)
            process.send_signal(signal.SIGHUP)
            for _ in range(250):
                client.catalog.key_list()
                if client.catalog.origin() != old:
                    break
                time.sleep(0.02)
            assert client.catalog.origin() == changed.successor
    finally:
        process.terminate()
        assert process.wait(20) == 0
        assert process.stdout is not None
        process.stdout.close()
