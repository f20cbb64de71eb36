"""The file itself: bytes that say nothing, say it twice, or say something else to people."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from typing import Any

from adversary.attempts import Evidence, Records, Strength, ledger, lie, story
from adversary.deals import shuffled
from adversary.records import put_signature
from adversary.scenes import Scene
from sixledger.ledger import keys
from support.forging import editing, editing_secret, signed_act
from support.ledgers import OTHER_SIGNER, Table

GAMES = ("base", "forces", "piece")
PARSE = ("TAMPERED", "parse")
#: A field number that no message has, as varint field 127 with the value 1.
UNKNOWN = b"\xf8\x07\x01"


def _file(where: Scene) -> bytes:
    return ledger(where, where.records(), where.table.heads(4))


def _changed(where: Scene, change: Callable[[list[bytes]], None], seq: int | None = None) -> Evidence:
    """The honest file with changed lines (without their ends); line `seq + 1` is that of record `seq`."""
    lines = _file(where).split(b"\n")[:-1]
    change(lines)
    return Evidence(b"".join(line + b"\n" for line in lines), *PARSE, seq)


def _at(number: int, old: bytes, new: bytes) -> Callable[[list[bytes]], None]:
    """Replace the first `old` of a line."""

    def change(lines: list[bytes]) -> None:
        assert old in lines[number], old
        lines[number] = lines[number].replace(old, new, 1)

    return change


# -- padding ---------------------------------------------------------------------------------------


@story("pad-lines", Strength.EDIT, *GAMES)
def an_empty_line_at_the_end(where: Scene) -> Evidence:
    return _changed(where, lambda lines: lines.append(b""))


@story("pad-lines", Strength.EDIT, *GAMES)
def an_empty_line_in_the_middle(where: Scene) -> Evidence:
    return _changed(where, lambda lines: lines.insert(5, b""))


@story("pad-lines", Strength.EDIT, *GAMES)
def a_line_of_another_kind(where: Scene) -> Evidence:
    return _changed(where, lambda lines: lines.insert(5, b'{"comment":"all in order"}'))


@story("pad-lines", Strength.EDIT, *GAMES)
def a_record_behind_the_heads(where: Scene) -> Evidence:
    return _changed(where, lambda lines: lines.append(lines[3]))


@story("pad-fields", Strength.EDIT, *GAMES)
def in_the_header(where: Scene) -> Evidence:
    return _changed(where, _at(0, b'"match":', b'"mark":"x","match":'))


@story("pad-fields", Strength.EDIT, *GAMES)
def in_a_record(where: Scene) -> Evidence:
    return _changed(where, _at(4, b'"openings":', b'"note":"x","openings":'))


@story("pad-fields", Strength.EDIT, *GAMES)
def in_a_head(where: Scene) -> Evidence:
    return _changed(where, _at(-1, b'{"head":', b'{"by":"x","head":'))


@story("pad-fields", Strength.EDIT, *GAMES)
def in_the_readable_copy(where: Scene) -> Evidence:
    return _changed(where, _at(4, b'"shown":{', b'"shown":{"a":1,'), 3)


@story("pad-spaces", Strength.EDIT, *GAMES)
def behind_a_colon(where: Scene) -> Evidence:
    return _changed(where, _at(4, b'"hash":', b'"hash": '))


@story("pad-spaces", Strength.EDIT, *GAMES)
def at_the_end_of_a_line(where: Scene) -> Evidence:
    return _changed(where, lambda lines: lines.__setitem__(4, lines[4] + b" "))


@story("pad-spaces", Strength.EDIT, *GAMES)
def line_ends_of_another_system(where: Scene) -> Evidence:
    return Evidence(_file(where).replace(b"\n", b"\r\n"), *PARSE)


@story("pad-spaces", Strength.EDIT, *GAMES)
def a_mark_at_the_beginning(where: Scene) -> Evidence:
    """What does not begin as a ledger does is none: there is nothing to judge."""
    return Evidence(b"\xef\xbb\xbf" + _file(where), "UNUSABLE", "parse")


# -- what people read ------------------------------------------------------------------------------


def _edit_shown(where: Scene, seq: int, change: Callable[[Any], None]) -> Evidence:
    def edit(lines: list[bytes]) -> None:
        line = json.loads(lines[seq + 1])
        change(line["shown"])
        lines[seq + 1] = json.dumps(line, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()

    return _changed(where, edit, seq)


@story("edit-readable", Strength.EDIT, *GAMES)
def another_winner_for_people(where: Scene) -> Evidence:
    """The bytes say one thing, the text beside them another."""

    def change(shown: Any) -> None:
        ended = shown["events"][-1]["match_ended"]
        ended["winners"] = [seat for seat in range(where.table.seats) if seat not in ended["winners"]]

    return _edit_shown(where, len(where.table.records) - 1, change)


@story("edit-readable", Strength.EDIT, *GAMES)
def another_time_for_people(where: Scene) -> Evidence:
    return _edit_shown(where, 3, lambda shown: shown.update(time="2025-06-15T15:06:40.000099Z"))


@story("edit-readable", Strength.EDIT, *GAMES)
def nothing_for_people(where: Scene) -> Evidence:
    return _edit_shown(where, 3, lambda shown: shown.clear())


# -- fields that the schema does not have ------------------------------------------------------------


@lie("unknown-fields", *PARSE, *GAMES)
def in_a_body(where: Scene, records: Records) -> int:
    seq = where.find("match_started")
    records[seq].body += UNKNOWN
    return seq


@lie("unknown-fields", *PARSE, *GAMES)
def in_a_cause(where: Scene, records: Records) -> int:
    seq = where.step("closed")
    with editing(records[seq]) as body:
        body.cause.MergeFromString(UNKNOWN)
    return seq


@lie("unknown-fields", *PARSE, *GAMES)
def in_an_event(where: Scene, records: Records) -> int:
    seq = where.find("match_started")
    with editing(records[seq]) as body:
        where.events(body)[0].match_started.MergeFromString(UNKNOWN)
    return seq


@lie("unknown-fields", "TAMPERED", "openings", *GAMES)
def under_a_seal(where: Scene, records: Records) -> int:
    seq = where.find(shuffled(where))
    with editing_secret(records[seq], 0) as event:
        getattr(getattr(event, where.table.game.id), shuffled(where)).MergeFromString(UNKNOWN)
    return seq


@lie("unknown-fields", *PARSE, "forces", "piece", strength=Strength.COLLUDING)
def in_a_signed_command(where: Scene, records: Records) -> int:
    """The seat has signed the unknown field along: a message under everybody's eyes."""
    seq = where.choice()
    seat = where.body(seq).cause.seat
    with editing(records[seq]) as body:
        body.command += UNKNOWN
        command = body.command
    put_signature(where, records, seq, signed_act(records[seq], where.table.key(seat), keys.ActKind.COMMAND, command))
    return seq


# -- other spellings ---------------------------------------------------------------------------------


@story("duplicate-keys", Strength.EDIT, *GAMES)
def one_key_twice_in_a_record(where: Scene) -> Evidence:
    """Readers differ in which of the two they take."""
    return _changed(where, _at(4, b'"hash":', b'"hash":"","hash":'))


@story("duplicate-keys", Strength.EDIT, *GAMES)
def one_key_twice_for_people(where: Scene) -> Evidence:
    return _changed(where, _at(4, b'"shown":{', b'"shown":{"cause":{},'))


def _respell(line: bytes) -> bytes:
    """Base64 with other unused bits: it decodes to the same bytes in most libraries."""
    found = re.search(rb'"hash":"([^"]{42})([^"])="', line)
    assert found is not None
    alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    last = alphabet[alphabet.index(found[2]) | 1 : (alphabet.index(found[2]) | 1) + 1]
    return line[: found.start(2)] + last + line[found.end(2) :]


@story("other-base64", Strength.EDIT, *GAMES)
def unused_bits(where: Scene) -> Evidence:
    return _changed(where, lambda lines: lines.__setitem__(4, _respell(lines[4])))


@story("other-base64", Strength.EDIT, *GAMES)
def without_padding(where: Scene) -> Evidence:
    return _changed(where, lambda lines: lines.__setitem__(4, re.sub(rb'("hash":"[^"=]+)="', rb'\1"', lines[4])))


@story("other-json", Strength.EDIT, *GAMES)
def a_letter_as_an_escape(where: Scene) -> Evidence:
    return _changed(where, _at(4, b'"hash"', b'"\\u0068ash"'))


@story("other-json", Strength.EDIT, *GAMES)
def keys_in_another_order(where: Scene) -> Evidence:
    def change(lines: list[bytes]) -> None:
        line = json.loads(lines[4])
        lines[4] = json.dumps(dict(reversed(line.items())), separators=(",", ":"), ensure_ascii=False).encode()

    return _changed(where, change)


@story("other-json", Strength.EDIT, *GAMES)
def a_number_with_a_fraction(where: Scene) -> Evidence:
    number = where.find(shuffled(where)) + 1
    return _changed(where, _at(number, b'"seal":0', b'"seal":0.0'))


# -- the header --------------------------------------------------------------------------------------


@story("header-other-viewer", Strength.EDIT, *GAMES)
def the_ledger_of_the_server(where: Scene) -> Evidence:
    evidence = _changed(where, _at(0, b'"viewer":"spectator"', b'"viewer":"operator"'))
    return Evidence(evidence.data, "BAD_OPENING", "openings")


@story("header-other-viewer", Strength.EDIT, *GAMES)
def the_ledger_of_nobody(where: Scene) -> Evidence:
    return _changed(where, _at(0, b'"viewer":"spectator"', b'"viewer":"referee"'))


@story("header-other-match", Strength.EDIT, *GAMES)
def the_id_of_another_match(where: Scene) -> Evidence:
    mine, other = where.table.match.match_id.hex().encode(), Table(name="another").match.match_id.hex().encode()
    return _changed(where, _at(0, mine, other))


@story("header-other-match", Strength.EDIT, *GAMES)
def another_version_of_the_rules(where: Scene) -> Evidence:
    return _changed(where, _at(0, b'"version":1', b'"version":2'))


@story("header-more-keys", Strength.OWN_KEY, *GAMES)
def a_key_that_signed_nothing(where: Scene) -> Evidence:
    """Whoever pins the keys of a header would trust it from then on."""
    more = f'"keys":["{OTHER_SIGNER.verifier_key}",'.encode()
    return _changed(where, _at(0, b'"keys":[', more))


# -- cut ---------------------------------------------------------------------------------------------


@story("cut-line", Strength.EDIT, *GAMES)
def the_end_of_the_last_line(where: Scene) -> Evidence:
    return Evidence(_file(where)[:-1], "TRUNCATED", "parse")


@story("cut-line", Strength.EDIT, *GAMES)
def half_of_the_last_line(where: Scene) -> Evidence:
    return Evidence(_file(where)[:-100], "TRUNCATED", "parse")


@story("cut-gzip", Strength.EDIT, *GAMES)
def the_last_bytes(where: Scene) -> Evidence:
    return Evidence(gzip.compress(_file(where), mtime=0)[:-12], "TRUNCATED", "parse")


@story("cut-gzip", Strength.EDIT, *GAMES)
def a_byte_of_the_checksum(where: Scene) -> Evidence:
    data = bytearray(gzip.compress(_file(where), mtime=0))
    data[-6] ^= 1
    return Evidence(bytes(data), "UNUSABLE", "parse")
