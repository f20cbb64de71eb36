"""What a tracker holds as a ledger: written to a file, replayed by the verifier."""

from __future__ import annotations

import gzip
import os
import tempfile
from pathlib import Path

from sixledger.client.core.tracker import Tracker
from sixledger.client.errors import cheated
from sixledger.client.files import sync_folder
from sixledger.ledger import file, viewers
from sixledger.ledger.faults import LedgerFault
from sixledger.ledger.verify import exit_status, verify_records
from sixledger.v1 import replay_service_pb2


def dump(tracker: Tracker) -> bytes:
    """The ledger file of what was received, with every receipt. The head of the last record must be here."""
    with tracker.lock:
        records = [recorded.record for recorded in tracker.received]
        notes = [note for count, note in tracker.receipts.notes.items() if count <= len(records)]
    viewer = viewers.SPECTATOR if tracker.viewer is None else viewers.seat_name(tracker.viewer)
    return file.dump(records, notes, tracker.receipts.origin.keys, viewer=viewer, registry=tracker.registry)


def write(tracker: Tracker, path: Path) -> Path:
    """Write the ledger file; see `save`."""
    return save(path, dump(tracker))


def save(path: Path, data: bytes) -> Path:
    """Put a ledger file at `path`, whole or not at all; gzipped if `path` ends with `.gz`."""
    if path.suffix == ".gz":
        data = gzip.compress(data, mtime=0)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)
    return path


def verify(tracker: Tracker) -> replay_service_pb2.VerifyReport:
    """The verifier's report on what was received and the receipts. Raises ServerCheated or UnknownRuleset."""
    with tracker.lock:
        received = [recorded.record for recorded in tracker.received]
        notes = [note for count, note in tracker.receipts.notes.items() if count <= len(received)]
    report = verify_records(received, notes, trusted=[tracker.receipts.origin.trust], registry=tracker.registry)
    if exit_status(report, partial=True) == 0:
        return report
    finding = report.finding
    fault = LedgerFault(report.verdict, finding.layer, finding.message or report.summary)
    fault.differences = [(each.path, each.recorded, each.expected) for each in finding.differences]
    raise cheated(fault, finding.seq if finding.HasField("seq") else None)
