"""`sixledger admin rotate-keys`: root secrets sealed anew, under the key that comes first now."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

from cyclopts import Parameter
from rich.text import Text
from sixledger.cli.offline import DataDir, StoreUrl, with_store
from sixledger.cli.terminal import out, write_json
from sixledger.service.audit import audit_here
from sixledger.service.store import Store
from sixledger.service.store.sealing import key_of

#: Matches read at a time.
_PAGE = 500


def rotate_keys(
    *,
    data_dir: DataDir = None,
    store: StoreUrl = None,
    as_json: Annotated[bool, Parameter("--json", negative="", help="Print JSON for a program.")] = False,
) -> None:
    """Seal every root secret under the first key of SIXLEDGER_SECRET_KEY_FILE or SIXLEDGER_SECRET_KEYS.

    All servers must know that key already. Those that were sealed under another key, or not at all, are changed. It may
    be stopped, and run again. Afterwards the other keys are needed for backups alone.
    """

    async def work(opened: Store) -> str:
        seal = opened.seal
        if seal is None:
            raise ValueError("there is no key to seal with: set SIXLEDGER_SECRET_KEY_FILE or SIXLEDGER_SECRET_KEYS")
        after: bytes | None = None
        while page := await opened.kept_secrets(after=after, limit=_PAGE):
            for match_id, kept in page:
                if seal.is_current(kept):
                    counts["current"] += 1
                elif await opened.replace_secret(match_id, kept, seal.close(match_id, seal.open(match_id, kept))):
                    counts["sealed"] += 1
                    before[key_of(kept) or "none"] += 1
            after = page[-1][0]
        return seal.current

    counts: Counter[str] = Counter()
    before: Counter[str] = Counter()
    try:
        current = with_store(data_dir, store, work)
    finally:  # what was done is told, even if something failed then
        if counts["sealed"]:
            audit_here("secrets_sealed", matches=counts["sealed"], before=sorted(before))
    if as_json:
        write_json({"key": current, "sealed": counts["sealed"], "unchanged": counts["current"], "before": dict(before)})
        return
    out().print(
        Text(f"sealed anew under key {current}: {counts['sealed']} matches; {counts['current']} were already"),
        soft_wrap=True,
    )
