"""Verifying a ledger by replaying it (DESIGN 7): `verify` for files, `verify_records` for records in memory.

A bad ledger is a verdict, never an exception; only what is no ledger at all raises UnusableInput.
"""

from __future__ import annotations

from sixledger.ledger.faults import UnusableInput
from sixledger.ledger.verify.verifier import exit_status, verify, verify_records

__all__ = ["UnusableInput", "exit_status", "verify", "verify_records"]
