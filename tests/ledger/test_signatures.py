"""Keys, signatures of acts, and signed heads."""

from __future__ import annotations

import pytest
from sixledger.engine.nimmt import GAME
from sixledger.ledger import keys
from sixledger.ledger.faults import BadSignature, MalformedAct
from sixledger.ledger.heads import BadNote, HeadSigner, SignedHead, VerifierKey, strict_base64
from sixledger.ledger.keys import ActKind, BadKey, load_public_key, public_bytes
from sixledger.v1 import engine_service_pb2
from support.ledgers import COMMIT_REVEAL, OTHER_SIGNER, SIGNER, Table, private_key

P = 2**255 - 19
#: RFC 8032 and "Taming the many EdDSAs": the encodings of the eight points of small order.
SMALL_ORDER = [
    "0100000000000000000000000000000000000000000000000000000000000000",
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0000000000000000000000000000000000000000000000000000000000000080",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
]
#: The same and other points with a coordinate of p or more, or with a sign that zero does not have.
NON_CANONICAL = [
    "0100000000000000000000000000000000000000000000000000000000000080",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    (P + 3).to_bytes(32, "little").hex(),
]


@pytest.mark.parametrize("key", SMALL_ORDER + NON_CANONICAL)
def test_keys_of_small_order_and_other_spellings_are_refused(key: str) -> None:
    with pytest.raises(BadKey):
        load_public_key(bytes.fromhex(key))
    assert not keys.verify(bytes.fromhex(key), bytes(64), b"anything")


def test_what_is_no_point_of_the_curve_is_refused() -> None:
    with pytest.raises(BadKey, match="no point"):
        load_public_key((2).to_bytes(32, "little"))
    for length in (0, 31, 33):
        with pytest.raises(BadKey, match="32 bytes"):
            load_public_key(bytes(length))


def test_a_signature_with_a_large_scalar_is_refused() -> None:
    key = private_key("scalar")
    signature = key.sign(b"message")
    order = 2**252 + 27742317777372353535851937790883648493
    scalar = int.from_bytes(signature[32:], "little") + order
    assert keys.verify(public_bytes(key), signature, b"message")
    assert not keys.verify(public_bytes(key), signature[:32] + scalar.to_bytes(32, "little"), b"message")
    assert not keys.verify(public_bytes(key), signature[:63], b"message")


# -- acts ----------------------------------------------------------------------------------------


@pytest.fixture
def table() -> Table:
    """A table at its first decision; both seats sign."""
    table = Table(signing=frozenset({0, 1}), name="acts")
    table.start()
    return table


def _action(table: Table, seat: int = 0) -> engine_service_pb2.Action:
    return table.command(seat, GAME.legal(table.match.state, seat)[0])


def test_a_signed_act_is_accepted(table: Table) -> None:
    table.act(_action(table))


def test_no_part_of_a_signed_act_can_be_changed(table: Table) -> None:
    other = GAME.legal(table.match.state, 0)[1]
    changes = {
        "request_id": bytes(16),
        "observed_head": table.match.first_hash,
        "signature": bytes(64),
    }
    for name, value in changes.items():
        action = _action(table)
        setattr(action.cause, name, value)
        with pytest.raises(BadSignature):
            table.act(action)
    action = _action(table)
    action.command = GAME.schema.commands.pack(other).SerializeToString()
    with pytest.raises(BadSignature):
        table.act(action)
    action = _action(table)
    action.cause.decision += 1
    with pytest.raises(BadSignature):
        table.act(action)


def test_the_bytes_of_a_command_are_signed_not_its_meaning(table: Table) -> None:
    action = _action(table)
    action.command = action.command + action.command
    assert GAME.schema.read_command(action.command) is not None
    with pytest.raises(BadSignature):
        table.act(action)


def test_a_signature_does_not_serve_another_seat(table: Table) -> None:
    for with_key in (False, True):
        action = _action(table)
        action.cause.seat = 1
        if with_key:
            action.cause.key_id = keys.key_id(table.public_key(1))
        with pytest.raises(BadSignature):
            table.act(action)


def test_a_signature_does_not_serve_another_match(table: Table) -> None:
    other = Table(signing=frozenset({0, 1}), name="acts elsewhere")
    other.start()
    action = _action(other)
    action.cause.key_id = keys.key_id(table.public_key(0))
    action.cause.observed_head = table.match.hash
    with pytest.raises(BadSignature):
        table.act(action)


def test_a_signature_does_not_serve_another_decision(table: Table) -> None:
    kept = _action(table)
    table.act(_action(table, 0))
    table.act(_action(table, 1))
    kept.cause.decision = table.match.decision
    with pytest.raises(BadSignature):
        table.act(kept)


def test_a_signature_does_not_serve_another_kind() -> None:
    table = Table(mode=COMMIT_REVEAL, signing=frozenset({0, 1}), contributing=frozenset({0}), name="kinds")
    table.join(0)
    table.join(1)
    value = bytes(range(32))
    action = table.action(0, ActKind.CONTRIBUTION, value, commitment=value)
    with pytest.raises(BadSignature):
        table.act(action)
    resign = table.action(0, ActKind.COMMAND, b"", resign=engine_service_pb2.ResignAction())
    with pytest.raises(BadSignature):
        table.act(resign)


def test_a_signing_seat_must_sign_and_another_must_not(table: Table) -> None:
    bare = _action(table)
    for name in ("signature", "key_id", "observed_head"):
        bare.cause.ClearField(name)
    with pytest.raises(BadSignature, match="not signed"):
        table.act(bare)
    unsigned = Table(name="unsigned acts")
    unsigned.start()
    action = _action(unsigned)
    action.cause.signature = bytes(64)
    with pytest.raises(BadSignature, match="has no key"):
        unsigned.act(action)


def test_a_command_must_have_seen_the_record_that_opened_its_decision(table: Table) -> None:
    before = table.matches[-2].hash
    seen = [table.match.recent.copy()]
    table.act(_action(table, 0))
    assert before not in table.match.recent
    assert table.match.recent == [*seen[0], table.match.hash]


def test_joining_with_a_key_that_fits_everything_is_malformed() -> None:
    table = Table(name="bad key")
    join = engine_service_pb2.JoinAction(public_key=bytes.fromhex(SMALL_ORDER[0]))
    action = table.action(0, ActKind.JOIN, join=join)
    with pytest.raises(MalformedAct, match="small order"):
        table.act(action)


# -- heads ---------------------------------------------------------------------------------------

MATCH, HASH = bytes(range(16)), bytes(range(32))


def test_a_head_is_a_signed_note_that_reads_back() -> None:
    note = SIGNER.sign(MATCH, 7, HASH, 1_700_000_000_123_456)
    assert note.splitlines()[:6] == [
        "sixledger-head/1",
        "ledger.example",
        "000102030405060708090a0b0c0d0e0f",
        "7",
        "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
        "2023-11-14T22:13:20.123456Z",
    ]
    signed = SignedHead.parse(note)
    assert (signed.head.count, signed.head.hash, signed.head.time_us) == (7, HASH, 1_700_000_000_123_456)
    assert signed.signed_by(SIGNER.verifier_key)
    assert not signed.signed_by(OTHER_SIGNER.verifier_key)
    assert not signed.signed_by(VerifierKey("else.where", SIGNER.verifier_key.public_key))


@pytest.mark.parametrize("time_us", [0, 1, 253_402_300_799_999_999])
def test_every_time_of_a_record_has_a_head(time_us: int) -> None:
    assert SignedHead.parse(SIGNER.sign(MATCH, 1, HASH, time_us)).head.time_us == time_us


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("sixledger-head/1", "sixledger-head/2"),
        ("\n7\n", "\n07\n"),
        ("\n7\n", "\n0\n"),
        ("\n7\n", "\n-7\n"),
        ("0001", "00G1"),
        ("Hh8=", "Hh9="),
        ("ledger.example\n", "ledger example\n"),
        ("20.123456Z", "20.12345Z"),
        ("2023-11-14T", "2023-13-14T"),
        ("— ledger", "- ledger"),
        ("\n\n", "\n"),
        ("Z\n\n", "Z\n\n\n"),
    ],
)
def test_a_head_has_one_spelling(old: str, new: str) -> None:
    note = SIGNER.sign(MATCH, 7, HASH, 1_700_000_000_123_456)
    assert old in note
    with pytest.raises(BadNote):
        SignedHead.parse(note.replace(old, new))


def test_a_note_has_exactly_one_signature_line() -> None:
    note = SIGNER.sign(MATCH, 7, HASH, 5)
    for changed in (note + note.splitlines()[-1] + "\n", note[:-1], note + "\n", note.rpartition("— ")[0]):
        with pytest.raises(BadNote):
            SignedHead.parse(changed)


def test_verifier_keys_read_back_and_refuse_everything_else() -> None:
    text = str(SIGNER.verifier_key)
    assert VerifierKey.parse(text) == SIGNER.verifier_key
    origin, _, rest = text.partition("+")
    small = VerifierKey(origin, bytes([1]) + bytes(31))
    for bad in ("", "a+b", f"{origin}x+{rest}", text[:-4] + "AAAA", text.replace("+", "-"), str(small), f"a b+{rest}"):
        with pytest.raises(ValueError, match=r"key|base64|origin"):
            VerifierKey.parse(bad)


def test_origins_have_no_spaces_or_plus_signs() -> None:
    for name in ("", "a b", "a+b", "a\nb", "x" * 129):
        with pytest.raises(ValueError, match="origin"):
            HeadSigner(name, private_key("x"))


def test_base64_is_read_in_one_spelling_only() -> None:
    assert strict_base64("AA==") == b"\x00"
    for bad in ("AB==", "AA=", "AA", "A A=", "AA==\n", "-_8=", "ä", "AA==AA=="):
        with pytest.raises(ValueError, match="base64"):
            strict_base64(bad)
