"""Taking up changed keys while the server runs."""

from __future__ import annotations

import asyncio
from pathlib import Path

from sixledger.ledger.origin_signer import OriginSigner
from sixledger.service.host import MatchHost
from sixledger.service.keyring import Keyring
from sixledger.service.logs import Log

#: A key that ends so soon without a successor is worth a warning.
_SOON_US = 30 * 86_400_000_000


class KeyWatch:
    """Looks at the key file now and then. `start` it once the server has its keys, and `close` it in the end."""

    def __init__(self, path: Path | None, signer: OriginSigner, host: MatchHost, tick_s: float) -> None:
        """Look every `tick_s` seconds; without a `path` the keys never change."""
        self._path = path
        self._signer = signer
        self._host = host
        self._tick_s = tick_s
        self._seen = self._stamp()
        self._task: asyncio.Task[None] | None = None
        self._log = Log("keys")

    def start(self) -> None:
        """Look from now on."""
        self._warn()
        if self._path is not None:
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def close(self) -> None:
        """Look no more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
            self._task = None

    def look(self, *, always: bool = True) -> bool:
        """Take up the keys in the file, by default also if it looks unchanged; True if there are others.

        What cannot be used is logged, and the server goes on with the keys that it has.
        """
        stamp = self._stamp()
        if self._path is None or (stamp == self._seen and not always):
            return False
        self._seen = stamp
        try:
            keyring = Keyring.load(self._path)
            changed = self._signer.replace(keyring.signing_keys, keyring.signed_list(self._signer.origin))
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            self._log.error("keys_not_taken_up", path=str(self._path), why=why)
            return False
        if changed:
            self._host.keys_changed()
            key_list = self._signer.signed_list.content
            self._log.info(
                "keys_changed", number=key_list.number, keys=[entry.key.hash.hex() for entry in key_list.keys]
            )
            self._warn()
        return changed

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(self._tick_s)
            self.look(always=False)

    def _stamp(self) -> tuple[int, int, int] | None:
        """What changes with the file: it is always replaced as a whole."""
        try:
            status = self._path.stat() if self._path is not None else None
        except OSError:
            return None
        return (status.st_mtime_ns, status.st_ino, status.st_size) if status is not None else None

    def _warn(self) -> None:
        now = self._host.clock()
        for when, hint in ((now, "heads are signed with a key that is not valid now"), (now + _SOON_US, "rotate it")):
            if self._signer.signed_list.content.signing(when) is None:
                self._log.warning("key_ends", key=self._signer.verifier_key.hash.hex(), hint=hint)
                return
