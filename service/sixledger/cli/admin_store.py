"""`sixledger admin new-keys · restored · abort · erase-names`: what an operator does at files and store themselves."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cyclopts import Parameter, validators
from rich.text import Text
from sixledger.cli.failures import unusable
from sixledger.cli.offline import DataDir, StoreUrl, with_store
from sixledger.cli.terminal import out, write_json
from sixledger.ledger.hashing import sha256
from sixledger.ledger.heads import HeadSigner
from sixledger.service.audit import audit_here
from sixledger.service.bots import UNFINISHED
from sixledger.service.host import MatchHost
from sixledger.service.keyring import Keyring
from sixledger.service.restored import is_restored, mark, with_status
from sixledger.service.store import Store
from sixledger.v1 import engine_service_pb2, record_pb2

Json = Annotated[bool, Parameter("--json", negative="", help="Print JSON for a program.")]
Seat = Annotated[int | None, Parameter(validator=validators.Number(gte=0, lt=2**16), help="Only of this seat.")]


def new_keys(
    path: Annotated[Path, Parameter(help="The file, which only its owner will be able to read.")],
    /,
    *,
    keep: Annotated[bool, Parameter(negative="", help="Do nothing if there is one already.")] = False,
) -> None:
    """Make a key file for servers that share a store. A server alone makes its own when it first starts."""
    keys = Keyring.generate()
    try:
        keys.save(path)
    except FileExistsError:
        if not keep:
            raise unusable(
                f"{path} exists: the keys in it sign the heads of a server, and are never overwritten"
            ) from None
        out().print(Text(f"kept {path}"), soft_wrap=True)
        return
    audit_here("keys_created", file=str(path))
    out().print(Text(f"made {path}: keep a copy of it in a safe place"), soft_wrap=True)


def restored(*, data_dir: DataDir = None, store: StoreUrl = None, as_json: Json = False) -> None:
    """After a restore, and before the first server starts: let what was open be read and aborted, nothing else.

    It cannot be undone: a match whose newest records are lost must not get others in their place.
    """

    async def work(opened: Store) -> None:
        for match_id in await with_status(opened, UNFINISHED):
            if not is_restored(opened, match_id):
                await mark(opened, match_id)
                marked.append(match_id.hex())

    marked: list[str] = []
    try:
        with_store(data_dir, store, work)
    finally:  # what was done is told, even if something failed then
        if marked:
            audit_here("matches_marked_restored", matches=marked)
    _say(marked, f"{_matches(marked)} can be read and aborted from now on, nothing else", as_json)


def abort(
    *matches: Annotated[str, Parameter(help="Match ids, 32 hexadecimal digits each.")],
    restored: Annotated[bool, Parameter(negative="", help="Abort every match that was marked as restored.")] = False,
    data_dir: DataDir = None,
    store: StoreUrl = None,
    as_json: Json = False,
) -> None:
    """Abort matches, as their owners can: each gets its last record, and what was sealed till then is revealed."""
    if bool(matches) == restored:
        raise unusable("name matches, or those with --restored")
    named = [_match_id(each) for each in matches]

    async def work(opened: Store) -> None:
        found = named or [each for each in await with_status(opened, UNFINISHED) if is_restored(opened, each)]
        # No head is signed here, so the server's key is not needed.
        host = MatchHost(opened, HeadSigner("nobody.invalid", Ed25519PrivateKey.generate()))
        for match_id in found:
            cause = record_pb2.Cause(
                kind=record_pb2.CAUSE_KIND_TABLE, request_id=sha256(b"sixledger/operator-abort/1\n", match_id)[:16]
            )
            action = engine_service_pb2.Action(cause=cause, time_us=host.clock())
            action.abort.SetInParent()
            await host.act(match_id, action)
            aborted.append(match_id.hex())

    aborted: list[str] = []
    try:
        with_store(data_dir, store, work)
    finally:
        if aborted:
            audit_here("matches_aborted", matches=aborted)
    _say(aborted, f"aborted {_matches(aborted)}", as_json)


def erase_names(
    match: Annotated[str, Parameter(help="Match id, 32 hexadecimal digits. Default: in all matches.")] = "",
    /,
    *,
    seat: Seat = None,
    name: Annotated[str | None, Parameter(help="Only this display name.")] = None,
    data_dir: DataDir = None,
    store: StoreUrl = None,
    as_json: Json = False,
) -> None:
    """Erase display names: of a match, of a seat, or a name wherever it stands. Ledgers hold none, and stay valid."""
    match_id = _match_id(match) if match else None
    if match_id is None and name is None:
        raise unusable("name a match, or a display name with --name")
    erased = with_store(data_dir, store, lambda opened: opened.erase_names(match_id, seat, name))
    where: dict[str, str | int] = {} if match_id is None else {"match": match_id.hex()}
    if seat is not None:
        where["seat"] = seat
    audit_here("names_erased", erased=erased, by_name=int(name is not None), **where)
    if as_json:
        write_json({"erased": erased})
    else:
        out().print(Text(f"erased {erased} display name{'s' * (erased != 1)}"), soft_wrap=True)


def _match_id(text: str) -> bytes:
    if not re.fullmatch("[0-9a-fA-F]{32}", text):
        raise unusable(f"{text!r} is no match id: it has 32 hexadecimal digits")
    return bytes.fromhex(text)


def _matches(found: list[str]) -> str:
    return f"{len(found)} match{'es' * (len(found) != 1)}"


def _say(found: list[str], text: str, as_json: bool) -> None:
    if as_json:
        write_json({"matches": found})
        return
    for each in found:
        out().print(Text(each, "faint"), soft_wrap=True)
    out().print(Text(text), soft_wrap=True)
