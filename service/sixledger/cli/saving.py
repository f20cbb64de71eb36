"""Saving the ledger of a match that was played without a server, and proving it at once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sixledger.cli.keys import trust_store
from sixledger.cli.keys_files import load_keyring
from sixledger.cli.paths import local_key_file, make_config_folder
from sixledger.ledger import file
from sixledger.ledger.hashing import sha256
from sixledger.ledger.heads import HeadSigner
from sixledger.ledger.keys import public_bytes
from sixledger.ledger.verify import verify
from sixledger.service.keyring import Keyring
from sixledger.v1 import record_pb2, replay_service_pb2


def local_signer() -> HeadSigner:
    """The signer of this person's own matches. Its key is made and trusted at first use."""
    make_config_folder()
    path = local_key_file()
    if not path.exists():
        Keyring.generate().save(path)
    key = load_keyring(path).signing_key
    # The name tells this person's ledgers from those that somebody else played at home.
    signer = HeadSigner(f"local-{sha256(public_bytes(key))[:4].hex()}", key)
    trust_store(writing=True).pin(signer.verifier_key)
    return signer


def save_local(
    records: Sequence[record_pb2.Record], match_id: bytes, time_us: int, folder: Path
) -> tuple[Path, replay_service_pb2.VerifyReport]:
    """Write the ledger of an ended match into `folder`; the file and what the verifier says of it."""
    signer = local_signer()
    head = signer.sign(match_id, len(records), records[-1].hash, time_us)
    data = file.dump(records, [head], [signer.verifier_key])
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{match_id.hex()[:12]}.ledger.jsonl"
    path.write_bytes(data)
    return path, verify(path, trusted=[signer.verifier_key])
