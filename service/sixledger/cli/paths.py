"""Where the command line keeps things.

Settings of a person (trusted keys, the own key of local matches) are in the configuration folder; what a
server stores is in a folder that is named when it starts, by default beside where it was started.
"""

from __future__ import annotations

import os
from pathlib import Path

#: Where `sixledger serve` keeps store and key, unless told otherwise.
DATA_FOLDER = Path("sixledger-data")
#: Where files for people are written, unless told otherwise.
OUT_FOLDER = Path("out")


def config_folder() -> Path:
    """$SIXLEDGER_CONFIG, or `sixledger` in the system's folder for settings. It need not exist."""
    named = os.environ.get("SIXLEDGER_CONFIG")
    if named:
        return Path(named)
    if os.name == "nt" and os.environ.get("APPDATA"):
        return Path(os.environ["APPDATA"]) / "sixledger"
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "sixledger"


def make_config_folder() -> None:
    """Make the configuration folder, for its owner alone, before something is written there."""
    config_folder().mkdir(parents=True, exist_ok=True, mode=0o700)


def trust_file() -> Path:
    """The keys of servers that this person trusts."""
    return config_folder() / "trust.json"


def local_key_file() -> Path:
    """The key that signs ledgers of matches played without a server."""
    return config_folder() / "local.key"
