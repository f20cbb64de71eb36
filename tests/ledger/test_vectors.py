"""The vectors of the specification, recomputed by an implementation written from docs/spec/ledger.md alone.

Nothing here may use the package, except where a test says so: this is what a verifier in another language does,
with SHA-256, HMAC, Ed25519, base64 and a reader for the protobuf wire format.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

VECTORS: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "docs" / "spec" / "vectors.json").read_text(encoding="utf-8")
)


def H(*parts: bytes) -> bytes:  # noqa: N802  # the name in the specification
    return hashlib.sha256(b"".join(parts)).digest()


def M(key: bytes, *parts: bytes) -> bytes:  # noqa: N802  # as above
    return hmac.new(key, b"".join(parts), hashlib.sha256).digest()


def u(width: int, value: int) -> bytes:
    return value.to_bytes(width, "big")


def x(text: str) -> bytes:
    return bytes.fromhex(text)


def stream(epoch_key: bytes, label: str) -> Iterator[int]:
    block = 0
    while True:
        yield from M(epoch_key, b"sixledger/rng/1\n", label.encode(), b"\n", u(8, block))
        block += 1


def below(numbers: Iterator[int], n: int) -> int:
    if n == 1:
        return 0
    width = 1
    while 256**width < n:
        width += 1
    limit = 256**width - 256**width % n
    while True:
        value = 0
        for _ in range(width):
            value = value * 256 + next(numbers)
        if value < limit:
            return value % n


def shuffle(numbers: Iterator[int], items: list[int]) -> list[int]:
    items = list(items)
    for i in range(len(items) - 1, 0, -1):
        j = below(numbers, i + 1)
        items[i], items[j] = items[j], items[i]
    return items


def chain_step(match: bytes, k: int, element: bytes) -> bytes:
    return H(b"sixledger/chain/1\n", match, u(4, k), element)


def epoch_key(element: bytes, match: bytes, r: int, entropy: bytes) -> bytes:
    return M(element, b"sixledger/epoch/1\n", match, u(4, r), entropy)


def commitment(match: bytes, seq: int, j: int, salt: bytes, value: bytes) -> bytes:
    return H(b"sixledger/seal/1\n", match, u(8, seq), u(2, j), salt, value)


def entropy_of(match: bytes, commitment_: bytes, contributions: list[bytes | None]) -> bytes:
    parts = [b"\x00" + bytes(32) if given is None else b"\x01" + given for given in contributions]
    return H(b"sixledger/entropy/1\n", match, commitment_, u(2, len(contributions)), *parts)


def record_hash(match: bytes, seq: int, previous: bytes, body: bytes, seals: list[tuple[int, int, bytes]]) -> bytes:
    parts = [u(8, audience) + u(4, epoch) + c for audience, epoch, c in seals]
    return H(b"sixledger/record/1\n", match, u(8, seq), previous, H(body), u(2, len(seals)), *parts)


def act_message(
    m: bytes, seat: int, kind: int, decision: int, observed: bytes, request: bytes, payload: bytes
) -> bytes:
    return b"sixledger/act/1\n" + m + u(2, seat) + u(1, kind) + u(8, decision) + observed + request + H(payload)


def test_the_file_is_current() -> None:
    """Regenerate it with `python tests/support/vectors.py --update`; this test alone compares with the package."""
    from support import vectors

    assert vectors.PATH.read_text(encoding="utf-8") == vectors.vectors()


@pytest.mark.parametrize("case", VECTORS["chance"], ids=lambda case: case["label"][:12])
def test_streams(case: dict[str, Any]) -> None:
    numbers = stream(x(case["epoch_key"]), case["label"])
    assert [below(numbers, n) for n in case["below"]] == case["drawn"]


def test_the_streams_exercise_rejects() -> None:
    """A verifier without the reject branch must fail."""
    for case in VECTORS["chance"]:
        numbers, naive = stream(x(case["epoch_key"]), case["label"]), []
        for n in case["below"]:
            width = (max(n - 1, 0).bit_length() + 7) // 8
            naive.append(int.from_bytes(bytes(next(numbers) for _ in range(width)), "big") % n)
        assert naive != case["drawn"]


@pytest.mark.parametrize("case", VECTORS["shuffle"], ids=lambda case: case["last"])
def test_shuffles(case: dict[str, Any]) -> None:
    pack = list(range(case["first"], case["last"] + 1))
    assert shuffle(stream(x(case["epoch_key"]), case["label"]), pack) == case["order"]
    assert sorted(case["order"]) == pack


def test_seeds() -> None:
    case = VECTORS["seeds"]
    match, n = x(case["match"]), case["epochs"]
    chain = [M(x(case["root_secret"]), b"sixledger/chain-root/1\n", match, u(4, n))]
    for k in range(n, 0, -1):
        chain.insert(0, chain_step(match, k, chain[0]))
    assert [each.hex() for each in chain] == case["chain"]
    given = [None if value is None else x(value) for value in case["contributions"]]
    for seat, (value, expected) in enumerate(zip(given, case["contribution_commitments"], strict=True)):
        if value is not None:
            assert H(b"sixledger/contribution/1\n", match, u(2, seat), value).hex() == expected
    entropy = entropy_of(match, chain[0], given)
    assert entropy.hex() == case["entropy"]
    assert [epoch_key(chain[r], match, r, entropy).hex() for r in range(1, n + 1)] == case["epoch_keys"]


@pytest.mark.parametrize("case", VECTORS["seals"], ids=lambda case: f"{case['seq']}-{case['seal']}")
def test_salts_and_seals(case: dict[str, Any]) -> None:
    match, seq, j, value = x(case["match"]), case["seq"], case["seal"], x(case["value"])
    key = M(x(case["root_secret"]), b"sixledger/salt-key/1\n", match)
    salt = M(key, x(case["previous_hash"]), u(8, seq), u(2, j), H(value))
    assert salt.hex() == case["salt"]
    assert commitment(match, seq, j, salt, value).hex() == case["commitment"]


@pytest.mark.parametrize("case", VECTORS["records"], ids=lambda case: case["seq"])
def test_record_hashes(case: dict[str, Any]) -> None:
    seals = [(int(s["audience"]), s["epoch"], x(s["commitment"])) for s in case["seals"]]
    found = record_hash(x(case["match"]), case["seq"], x(case["previous_hash"]), x(case["body"]), seals)
    assert found.hex() == case["hash"]


@pytest.mark.parametrize("case", VECTORS["acts"], ids=lambda case: case["kind"])
def test_signatures_of_acts(case: dict[str, Any]) -> None:
    fields = [x(case[name]) for name in ("match", "observed_head", "request_id", "payload")]
    message = act_message(fields[0], case["seat"], case["kind"], case["decision"], *fields[1:])
    assert message.hex() == case["message"]
    key = Ed25519PrivateKey.from_private_bytes(x(case["private_key"]))
    assert key.public_key().public_bytes_raw().hex() == case["public_key"]
    assert key.sign(message).hex() == case["signature"]
    assert H(b"sixledger/key/1\n", x(case["public_key"]))[:8].hex() == case["key_id"]


def check_note(note: str, verifier_key: str) -> tuple[int, bytes]:
    """Count and hash of a head whose signature is right."""
    text, _, tail = note.partition("\n\n")
    origin, key_hash, key = verifier_key.split("+", 2)
    kind_and_key = base64.b64decode(key)
    assert kind_and_key[:1] == b"\x01"
    assert H(origin.encode(), b"\n", kind_and_key)[:4].hex() == key_hash
    prefix = f"— {origin} "
    assert tail.startswith(prefix)
    data = base64.b64decode(tail[len(prefix) :].rstrip("\n"))
    assert data[:4].hex() == key_hash
    Ed25519PublicKey.from_public_bytes(kind_and_key[1:]).verify(data[4:], (text + "\n").encode())
    lines = text.split("\n")
    assert (lines[0], lines[1], len(lines)) == ("sixledger-head/1", origin, 6)
    return int(lines[3]), base64.b64decode(lines[4])


@pytest.mark.parametrize("case", VECTORS["heads"], ids=lambda case: case["count"])
def test_heads(case: dict[str, Any]) -> None:
    assert check_note(case["note"], case["verifier_key"]) == (case["count"], x(case["hash"]))


# -- a whole ledger, with a reader of the wire format -----------------------------------------------


def fields(data: bytes) -> dict[int, list[Any]]:
    """The fields of a protobuf message: number → values; numbers for varints, bytes for the rest."""
    found: dict[int, list[Any]] = {}
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        tag = varint()
        if tag & 7 == 0:
            value: Any = varint()
        else:
            length = {1: 8, 5: 4}[tag & 7] if tag & 7 != 2 else varint()
            value, at = data[at : at + length], at + length
        found.setdefault(tag >> 3, []).append(value)
    return found


def packed(data: bytes) -> list[int]:
    """A packed list of varints."""
    result, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            result.append(value)
            value = shift = 0
    return result


def one(message: dict[int, list[Any]], number: int, default: Any) -> Any:
    return message.get(number, [default])[0]


@pytest.mark.parametrize("name", ["ledger", "lobby", "clocks"])
def test_a_whole_ledger(name: str) -> None:
    """Chain, heads, seals, signatures, seeds and the deal of a match, from the field numbers of the specification."""
    header, *rest = [json.loads(line) for line in VECTORS[name]["file"]]
    records = [line for line in rest if "body" in line]
    match, previous, keys, hashes = x(header["match"]), bytes(32), {}, []
    bodies, order, reveals, contributions = [], [], {}, {}
    hands: dict[int, list[int]] = {}
    seats, kinds = 0, set()
    for seq, record in enumerate(records):
        data = base64.b64decode(record["body"])
        body = fields(data)
        bodies.append(body)
        assert (one(body, 1, 0), one(body, 2, b""), one(body, 3, 0)) == (1, match, seq)
        seals = [(int(s["audience"]), s["epoch"], base64.b64decode(s["commitment"])) for s in record["seals"]]
        previous = record_hash(match, seq, previous, data, seals)
        assert base64.b64decode(record["hash"]) == previous
        hashes.append(previous)
        values = {}
        for opening in record["openings"]:
            j, value = opening["seal"], base64.b64decode(opening["value"])
            assert commitment(match, seq, j, base64.b64decode(opening["salt"]), value) == seals[j][2]
            values[j] = value
        # the cause and its signature
        cause = fields(one(body, 5, b""))
        seat, signature = one(cause, 2, 0), one(cause, 7, b"")
        kind, payload = None, b""
        for step in map(fields, body.get(7, [])):
            for number, content in step.items():
                inner = fields(content[0])
                if number == 2:
                    keys[seat] = one(inner, 2, b"")
                    kind, payload = 2, keys[seat]
                elif number == 3:
                    seats = len(inner[1])
                elif number == 4:
                    kind, payload = 3, one(inner, 2, b"")
                    contributions[seat] = payload
                elif number == 5:
                    kind, payload = 4, one(inner, 2, b"")
                    assert H(b"sixledger/contribution/1\n", match, u(2, seat), payload) == contributions[seat]
                    contributions[seat] = payload
                elif number in {7, 9, 10}:
                    kind, payload = {7: 6, 9: 5, 10: 7}[number], b""
                    kinds.add(kind)
        if 6 in body:
            kind, payload = 1, body[6][0]
            game_command = fields(one(fields(payload), 2, b""))
            if 1 in game_command:  # select_card has a secret field: the first seal holds command and signature
                sealed = fields(values.pop(0))
                payload, signature = one(sealed, 1, b""), one(sealed, 2, b"")
        if one(cause, 1, 0) == 1 and keys[seat]:
            observed, request = one(cause, 5, b""), one(cause, 3, b"")
            assert observed in hashes[:-1]
            assert H(b"sixledger/key/1\n", keys[seat])[:8] == one(cause, 6, b"")
            message = act_message(match, seat, kind or 0, one(cause, 4, 0), observed, request, payload)
            Ed25519PublicKey.from_public_bytes(keys[seat]).verify(signature, message)
        # what was drawn
        for value in values.values():
            event = fields(one(fields(value), 2, b""))
            if 3 in event and 2 in fields(event[3][0]):
                order = packed(fields(event[3][0])[2][0])
            if 4 in event and 3 in fields(event[4][0]):
                hands[len(hands)] = packed(fields(event[4][0])[3][0])
        for reveal in map(fields, body.get(9, [])):
            reveals[one(reveal, 1, 0)] = one(reveal, 2, b"")
    heads = [check_note(line["head"], header["keys"][0]) for line in rest if "head" in line]
    assert [hashes[count - 1] for count, _ in heads] == [found for _, found in heads]
    assert heads[-1][0] == len(records)
    # the seed chain and the deal
    opened = fields(fields(bodies[0][7][0])[1][0])
    assert chain_step(match, 1, reveals[1]) == opened[5][0]
    entropy = entropy_of(match, opened[5][0], [contributions.get(seat) for seat in range(seats)])
    key = epoch_key(reveals[1], match, 1, entropy)
    assert shuffle(stream(key, "pack"), list(range(1, 105))) == order
    assert hands == {seat: sorted(order[10 * seat : 10 * seat + 10]) for seat in range(seats)}
    assert (opened[3][0], seats, kinds) == {
        "ledger": (2, 2, {6}),
        "lobby": (4, 3, {5, 7}),
        "clocks": (2, 2, set()),
    }[name]


def test_timers() -> None:
    """Request ids by the formula; a timer's record is that of the first armed one, and no other comes later."""
    header, *rest = [json.loads(line) for line in VECTORS["clocks"]["file"]]
    match = x(header["match"])
    numbers = {"TURN": 4, "PAUSE": 5}
    armed: list[dict[str, Any]] = []
    fired = set()
    for record, after in zip((line for line in rest if "body" in line), VECTORS["clocks"]["timers"], strict=True):
        body = fields(base64.b64decode(record["body"]))
        cause, time_us = fields(body[5][0]), body[4][0]
        if one(cause, 1, 0) == 2:
            first = armed[0]
            assert (one(cause, 8, 0), one(cause, 9, 0)) == (numbers[first["timer"]], first["armed_seq"])
            assert one(cause, 2, 0) == (first["seat"] or 0)
            assert one(cause, 3, b"") == x(first["request_id"])
            assert time_us >= first["deadline_us"]
            fired.add(first["timer"])
        else:
            assert all(time_us <= timer["deadline_us"] for timer in armed)
        armed = after
        assert armed == sorted(armed, key=lambda timer: (timer["deadline_us"], timer["seat"] or 0))
        for timer in armed:
            seat = 0xFFFF if timer["seat"] is None else timer["seat"]
            parts = match, u(8, timer["armed_seq"]), u(1, numbers[timer["timer"]]), u(2, seat)
            assert H(b"sixledger/timer/1\n", *parts)[:16] == x(timer["request_id"])
    assert fired == set(numbers)


def test_the_salts_of_the_ledger_follow_from_the_root_secret() -> None:
    header, *rest = [json.loads(line) for line in VECTORS["ledger"]["file"]]
    match, previous = x(header["match"]), bytes(32)
    salt_key = M(x(VECTORS["ledger"]["root_secret"]), b"sixledger/salt-key/1\n", match)
    for seq, record in enumerate(line for line in rest if "body" in line):
        for opening in record["openings"]:
            value = base64.b64decode(opening["value"])
            salt = M(salt_key, previous, u(8, seq), u(2, opening["seal"]), H(value))
            assert base64.b64encode(salt).decode() == opening["salt"]
        previous = base64.b64decode(record["hash"])
