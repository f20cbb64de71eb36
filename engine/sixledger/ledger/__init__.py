"""Ledgers: hash-chained records of a match, files of them, and their verification.

    load, dump, lines, LedgerFile          the file `*.ledger.jsonl[.gz]`
    Author                                 writes the records of a match
    Match, fold                            where a match stands after its records
    VerifierKey, HeadSigner, SignedHead    signed heads and their keys
    SignedKeyList, OriginSigner            all keys of an origin with their periods
    LedgerFault, UnusableInput, Refused    what can be wrong

`sixledger.ledger.verify` verifies. The names here are loaded when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sixledger.ledger.author import Author
    from sixledger.ledger.faults import LedgerFault, Refused, UnusableInput
    from sixledger.ledger.file import LedgerFile, dump, lines, load
    from sixledger.ledger.folding import fold
    from sixledger.ledger.heads import HeadSigner, SignedHead, VerifierKey
    from sixledger.ledger.key_list import SignedKeyList
    from sixledger.ledger.match import Match
    from sixledger.ledger.origin_signer import OriginSigner

_HOMES = {
    "Author": "author",
    "HeadSigner": "heads",
    "LedgerFault": "faults",
    "LedgerFile": "file",
    "Match": "match",
    "OriginSigner": "origin_signer",
    "Refused": "faults",
    "SignedHead": "heads",
    "SignedKeyList": "key_list",
    "UnusableInput": "faults",
    "VerifierKey": "heads",
    "dump": "file",
    "fold": "folding",
    "lines": "file",
    "load": "file",
}

__all__ = [
    "Author",
    "HeadSigner",
    "LedgerFault",
    "LedgerFile",
    "Match",
    "OriginSigner",
    "Refused",
    "SignedHead",
    "SignedKeyList",
    "UnusableInput",
    "VerifierKey",
    "dump",
    "fold",
    "lines",
    "load",
]


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used."""
    try:
        home = _HOMES[name]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
    value = globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
    return value
