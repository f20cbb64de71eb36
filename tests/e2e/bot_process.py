"""A player as a process of its own: `bot_process.py ADDRESS MATCH SEAT CREDENTIALS`.

Goes on with the credentials file if there is one, so it may be killed at any instant and started again.
"""

from __future__ import annotations

import sys
from pathlib import Path

from sixledger.client import Client, Credentials, run_bot
from sixledger.engine.bots import random_policy


def main() -> None:
    """Play to the end."""
    address, match, seat, file = sys.argv[1:]
    path = Path(file)
    credentials = Credentials.load(path) if path.exists() else None
    with Client(address) as client:
        run_bot(client, bytes.fromhex(match), int(seat), random_policy, credentials=credentials, save_to=path)


if __name__ == "__main__":
    main()
