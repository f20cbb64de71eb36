"""Test vectors of the ledger, for verifiers in other languages: docs/spec/vectors.json.

    python tests/support/vectors.py            compare; exit status 1 if anything differs
    python tests/support/vectors.py --update   write the file anew

Bytes are hex, except in `ledger`, which is a file as it is.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

if __name__ == "__main__":  # run as a script: find the sibling modules as the tests do
    sys.path.insert(0, str(Path(__file__).parents[1]))

from sixledger.engine.chance import Stream
from sixledger.ledger import hashing, keys
from sixledger.ledger.seeds import SeedChain
from sixledger.v1 import engine_service_pb2, record_pb2
from support.ledgers import COMMIT_REVEAL, SIGNER, START_US, Table, private_key, secret

PATH = Path(__file__).parents[2] / "docs" / "spec" / "vectors.json"
MATCH = secret("vector match")[:16]
ROOT = secret("vector root")
#: Bounds whose draws read none, one, two and three bytes, with and without a chance of a reject.
BOUNDS = [1, 2, 3, 6, 52, 104, 128, 129, 200, 255, 256, 257, 300, 1000, 32768, 32769, 65535, 65536, 65537, 100000]


def _chance() -> list[dict[str, Any]]:
    result = []
    for label in ("pack", "starter", "deck/0", "take/12", "a" * 64):
        key = secret(f"vector epoch {label}")
        stream = Stream(key, label)
        bounds = BOUNDS * 3
        result.append(
            {"epoch_key": key.hex(), "label": label, "below": bounds, "drawn": [stream.below(n) for n in bounds]}
        )
    return result


def _shuffles() -> list[dict[str, Any]]:
    key = secret("vector shuffle")
    return [
        {
            "epoch_key": key.hex(),
            "label": "pack",
            "first": 1,
            "last": last,
            "order": Stream(key, "pack").shuffle(range(1, last + 1)),
        }
        for last in (1, 2, 24, 104, 300)
    ]


def _seeds() -> dict[str, Any]:
    chain = SeedChain.from_secret(ROOT, MATCH, 5)
    given = [secret("vector contribution 0"), None, secret("vector contribution 2")]
    mixed = hashing.entropy(MATCH, chain.commitment, given)
    return {
        "root_secret": ROOT.hex(),
        "match": MATCH.hex(),
        "epochs": 5,
        "chain": [chain.element(epoch).hex() for epoch in range(6)],
        "contributions": [value.hex() if value else None for value in given],
        "contribution_commitments": [
            hashing.contribution_commitment(MATCH, seat, value).hex() if value else None
            for seat, value in enumerate(given)
        ],
        "entropy": mixed.hex(),
        "epoch_keys": [hashing.epoch_key(chain.element(r), MATCH, r, mixed).hex() for r in range(1, 6)],
    }


def _seals() -> list[dict[str, Any]]:
    result = []
    key = hashing.salt_key(ROOT, MATCH)
    for seq, index, value in (
        (0, 0, b""),
        (1, 0, b"\x12\x02\x08\x07"),
        (1, 1, b"\x12\x02\x08\x07"),
        (2**40, 65534, bytes(200)),
    ):
        previous = hashing.sha256(b"previous", hashing.u64(seq))
        salt = hashing.salt(key, previous, seq, hashing.u16(index), value)
        result.append(
            {
                "root_secret": ROOT.hex(),
                "match": MATCH.hex(),
                "previous_hash": previous.hex(),
                "seq": seq,
                "seal": index,
                "value": value.hex(),
                "salt": salt.hex(),
                "commitment": hashing.commitment(MATCH, seq, index, salt, value).hex(),
            }
        )
    return result


def _records() -> list[dict[str, Any]]:
    result = []
    for seq, seals in ((0, []), (1, [(1, 0), (2**63, 1), (0, 1000)])):
        previous = hashing.ZERO_HASH if seq == 0 else hashing.sha256(b"previous")
        body = b"any bytes " * (seq + 1)
        made = [
            record_pb2.Seal(audience=audience, epoch=epoch, commitment=hashing.sha256(hashing.u64(n)))
            for n, (audience, epoch) in enumerate(seals)
        ]
        result.append(
            {
                "match": MATCH.hex(),
                "seq": seq,
                "previous_hash": previous.hex(),
                "body": body.hex(),
                "seals": [
                    {"audience": str(s.audience), "epoch": s.epoch, "commitment": s.commitment.hex()} for s in made
                ],
                "hash": hashing.record_hash(MATCH, seq, previous, body, made).hex(),
            }
        )
    return result


def _acts() -> list[dict[str, Any]]:
    result = []
    for kind, seat, decision, payload in (
        (keys.ActKind.COMMAND, 0, 7, b"\x12\x04\x0a\x02\x08\x05"),
        (keys.ActKind.JOIN, 3, 0, keys.public_bytes(private_key("vector 3"))),
        (keys.ActKind.COMMITMENT, 1, 0, secret("vector K")),
        (keys.ActKind.CONTRIBUTION, 1, 0, secret("vector contribution")),
        (keys.ActKind.LEAVE, 4, 0, b""),
        (keys.ActKind.RESIGN, 9, 0, b""),
        (keys.ActKind.READY, 2, 0, b""),
    ):
        key = private_key(f"vector {seat}")
        observed, request = secret("vector observed"), secret(f"vector request {seat}")[:16]
        message = keys.act_message(MATCH, seat, kind, decision, observed, request, payload)
        result.append(
            {
                "private_key": key.private_bytes_raw().hex(),
                "public_key": keys.public_bytes(key).hex(),
                "key_id": keys.key_id(keys.public_bytes(key)).hex(),
                "match": MATCH.hex(),
                "seat": seat,
                "kind": int(kind),
                "decision": decision,
                "observed_head": observed.hex(),
                "request_id": request.hex(),
                "payload": payload.hex(),
                "message": message.hex(),
                "signature": key.sign(message).hex(),
            }
        )
    return result


def _heads() -> list[dict[str, Any]]:
    return [
        {
            "private_key": private_key("origin").private_bytes_raw().hex(),
            "origin": SIGNER.origin,
            "verifier_key": str(SIGNER.verifier_key),
            "match": MATCH.hex(),
            "count": count,
            "hash": secret("vector head").hex(),
            "time_us": str(time_us),
            "note": SIGNER.sign(MATCH, count, secret("vector head"), time_us),
        }
        for count, time_us in ((1, 0), (123, 1_750_000_000_123_456), (2**40, 253_402_300_799_999_999))
    ]


def _ledger() -> dict[str, Any]:
    """Two seats, signed, committed contributions, two turns, a resignation."""
    both = frozenset({0, 1})
    table = Table(mode=COMMIT_REVEAL, signing=both, contributing=both, name="vector ledger").play(4)
    table.resign(0)
    return {"root_secret": secret(f"root {table.name}").hex(), "file": table.file(2).decode().splitlines()}


def _lobby() -> dict[str, Any]:
    """Four seats, three play: one leaves and its seat is taken again by a bot of the author, then all are ready."""
    table = Table(
        4,
        mode=COMMIT_REVEAL,
        signing=frozenset({0, 1}),
        contributing=frozenset({0, 1}),
        ready_seats=3,
        name="vector lobby",
    )
    table.join(0)
    table.join(2)
    table.join(1)
    table.leave(2)
    table.ready(1)
    table.join(2, hosted=True)
    table.ready(0)
    table.contribute()
    table.play(2)
    table.abort()
    return {"root_secret": secret(f"root {table.name}").hex(), "file": table.file().decode().splitlines()}


def _clocks() -> dict[str, Any]:
    """A match against the clock, with pauses and commands that timers gave; and the armed timers after each record."""
    clock = record_pb2.Clock(turn_us=2_000_000, bank_us=3_000_000, increment_us=250_000, pause_us=9_000_000)
    table = Table(2, clock=clock, policy=record_pb2.TIMEOUT_POLICY_FIRST_LEGAL, name="clock vectors", at=0)
    table.start()
    for number in range(14):
        table.at = table.match.time_us - START_US + 400_000 + 100_000 * number
        if START_US + table.at > table.match.first_deadline_us:
            table.fire(number)
        else:
            table.play_one()
        table.at = table.match.time_us - START_US
        if number == 3:
            table.pause()
            table.at += 5_000_000
            table.resume()
        if number == 7:
            table.pause()
            table.fire(0)
    table.at = table.match.time_us - START_US
    table.abort()
    return {
        "timers": [[_timer(timer) for timer in match.timers()] for match in table.matches],
        "file": table.file().decode().splitlines(),
    }


def _timer(timer: engine_service_pb2.Timer) -> dict[str, Any]:
    kind = record_pb2.TimerKind.Name(timer.kind).removeprefix("TIMER_KIND_")
    return {
        "timer": kind,
        "seat": timer.seat if timer.HasField("seat") else None,
        "armed_seq": timer.armed_seq,
        "deadline_us": timer.deadline_us,
        "request_id": timer.request_id.hex(),
    }


def vectors() -> str:
    """The text of the file."""
    content = {
        "format": "sixledger-vectors/1",
        "chance": _chance(),
        "shuffle": _shuffles(),
        "seeds": _seeds(),
        "seals": _seals(),
        "records": _records(),
        "acts": _acts(),
        "heads": _heads(),
        "ledger": _ledger(),
        "lobby": _lobby(),
        "clocks": _clocks(),
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def main() -> int:
    """Compare or update."""
    parser = argparse.ArgumentParser(description="Compare the test vectors, or write them anew.")
    parser.add_argument("--update", action="store_true")
    update = parser.parse_args().update
    text = vectors()
    if PATH.exists() and PATH.read_text(encoding="utf-8") == text:
        return 0
    if update:
        PATH.write_text(text, encoding="utf-8")
    print(f"{PATH.name}: {'written' if update else 'differs'}")  # noqa: T201  # a script
    return 0 if update else 1


if __name__ == "__main__":
    sys.exit(main())
