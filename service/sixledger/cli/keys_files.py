"""`sixledger keys`, the part for operators: the key file of a server, and how its keys change."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter
from rich.table import Table
from rich.text import Text
from sixledger.cli.failures import Failure, unusable
from sixledger.cli.terminal import complain, out, write_json
from sixledger.ledger.heads import format_time
from sixledger.ledger.key_list import MAGIC, Reason, SignedKeyList
from sixledger.service import key_life
from sixledger.service.keyring import KeyFileError, Keyring

#: What a server calls itself unless told otherwise.
DEFAULT_ORIGIN = "localhost"

Json = Annotated[bool, Parameter("--json", negative="", help="Print JSON for a program.")]
Origin = Annotated[
    str | None,
    Parameter(help=f"Name of the server, such as example.org. Default: the one in the file, or {DEFAULT_ORIGIN}."),
]
KeyFile = Annotated[Path, Parameter(help="Key file of a server.")]

_SPAN = re.compile(r"\+(\d{1,6})([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: Seconds after which all replicas have the new keys.
_HEARD_S = 60


def generate(file: KeyFile, /, *, origin: Origin = None) -> None:
    """Make the key file of a server, readable by you alone, and print its verifier key."""
    try:
        Keyring.generate().save(file)
    except FileExistsError:
        raise Failure(f"{file} exists already; it is not replaced") from None
    show(file, origin=origin)


def show(
    file: Annotated[Path, Parameter(help="Key file of a server, or a published key list.")],
    /,
    *,
    origin: Origin = None,
    as_json: Json = False,
) -> None:
    """Print the key of a server that signs now: what others need to check its signatures.

    If it had other keys or will have, all of them follow, with their periods.
    """
    key_list = _list_in(file, origin)
    now_us = _now()
    content = key_list.content
    signing = content.signing(now_us)
    if as_json:
        keys = [
            {
                "verifier_key": str(entry.key),
                "state": entry.state(now_us),
                "not_before": None if entry.not_before_us is None else format_time(entry.not_before_us),
                "not_after": None if entry.not_after_us is None else format_time(entry.not_after_us),
                "revoked": None if entry.revoked_us is None else format_time(entry.revoked_us),
                "reason": entry.reason,
            }
            for entry in content.keys
        ]
        current = str(signing.key) if signing is not None else None
        write_json({"origin": content.origin, "number": content.number, "verifier_key": current, "keys": keys})
        return
    console = out()
    if signing is None:
        complain(f"no key of {content.origin} may sign now")
    else:
        console.print(Text(str(signing.key)), soft_wrap=True)
    if len(content.keys) > 1 or signing is None:
        table = Table(box=None, pad_edge=False, header_style="heading")
        for name in ("key", "state", "from", "until"):
            table.add_column(name, no_wrap=True)
        for entry in content.keys:
            state = entry.state(now_us) + (f" ({entry.reason})" if entry.reason is not None else "")
            bounds = (entry.not_before_us, entry.revoked_us if entry.revoked_us is not None else entry.not_after_us)
            table.add_row(entry.key.hash.hex(), state, *("-" if each is None else _second(each) for each in bounds))
        console.print(Text(f"\nkey list {content.number} of {content.origin}", "heading"))
        console.print(table)


def rotate(
    file: KeyFile,
    /,
    *,
    origin: Origin = None,
    at: Annotated[
        str, Parameter(help="When: +1h, +30d, or a time such as 2027-01-01T00:00:00Z. Clients and replicas hear of it.")
    ] = "+1h",
) -> None:
    """Let the next key sign from some time on. It is made now, unless one is waiting already.

    Running servers take it up by themselves. Clients that trust the old key follow to the new one.
    """
    keyring, name = _loaded(file, origin)
    now_us = _now()
    at_us = parse_moment(at, now_us)
    changed = _change(lambda: key_life.rotate(keyring, name, at_us, now_us))
    changed.keyring.save(file, over=True)
    made = "was made, and" if changed.is_new else "was waiting, and"
    if at_us - now_us < _HEARD_S * 1_000_000:
        complain(
            "until running servers take up the file, which can take ten seconds, they sign with the old key: what they "
            f"sign after the new one has begun will not be believed. Better give them {_HEARD_S} seconds or more"
        )
    out().print(Text(f"The key {changed.successor.hash.hex()} {made} signs from {_second(at_us)} on."), soft_wrap=True)
    _say_next(file)


def revoke(
    file: KeyFile,
    key: Annotated[str, Parameter(help="Key to end, by its short name: eight digits, as in `sixledger keys show`.")],
    /,
    *,
    origin: Origin = None,
    reason: Annotated[
        Literal["compromised", "lost", "superseded"],
        Parameter(help="compromised: somebody else may have it. lost: nobody has it. superseded: another is better."),
    ] = "compromised",
    since: Annotated[
        str | None, Parameter(help="When it was stolen at the earliest, such as 2027-01-01T00:00:00Z. Default: now.")
    ] = None,
) -> None:
    """End a key at once. The next one signs in its place, also for what it signed before.

    What a compromised key signed since it was stolen proves nothing; what it signed before is proven only by receipts.
    """
    keyring, name = _loaded(file, origin)
    now_us = _now()
    since_us = now_us if since is None else parse_moment(since, now_us)
    short = key.split("+")[1] if key.count("+") > 1 else key
    changed = _change(lambda: key_life.revoke(keyring, name, short, Reason(reason), since_us, now_us))
    changed.keyring.save(file, over=True)
    out().print(Text(f"The key {short} is revoked; {changed.successor.hash.hex()} signs in its place."), soft_wrap=True)
    if changed.is_new:
        complain(
            "the key in its place is new: clients cannot follow to it by themselves. Tell your players to trust "
            f"{changed.successor}"
        )
    _say_next(file)


def publish(
    file: KeyFile,
    /,
    *,
    origin: Origin = None,
    output: Annotated[Path | None, Parameter(("--output", "-o"), help="Where to write it. Default: print it.")] = None,
) -> None:
    """Print or write the key list of a server: a text that its keys have signed, for anybody."""
    note = _list_in(file, origin).note
    if output is None:
        out().print(Text(note), end="", soft_wrap=True)
        return
    try:
        output.write_text(note, encoding="utf-8", newline="\n")
    except OSError as error:
        raise Failure(f"{output} cannot be written: {error.strerror}") from None
    out().print(Text(f"Written: {output}"), soft_wrap=True)


def load_keyring(file: Path) -> Keyring:
    """The keys in a file. Raises Failure."""
    try:
        return Keyring.load(file)
    except KeyFileError as error:
        raise unusable(str(error)) from None
    except OSError as error:
        raise unusable(f"key file {file}: {error.strerror}") from None


def parse_moment(text: str, now_us: int) -> int:
    """A time as people give it, in microseconds since 1970: `now`, `+2h`, or RFC 3339 in UTC. Raises Failure."""
    if text == "now":
        return now_us
    if span := _SPAN.fullmatch(text):
        return now_us + int(span[1]) * _SECONDS[span[2]] * 1_000_000
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise unusable(f"{text} is no time: give +90m, +30d or a time such as 2027-01-01T00:00:00Z") from None
    if moment.tzinfo is None:
        raise unusable(f"{text} does not say its time zone: end it with Z for UTC")
    return (moment - _EPOCH) // timedelta(microseconds=1)


def _now() -> int:
    return time.time_ns() // 1000


def _second(time_us: int) -> str:
    return format_time(time_us)[:19] + "Z"


def _loaded(file: Path, origin: str | None) -> tuple[Keyring, str]:
    """The keys and the name of their origin."""
    keyring = load_keyring(file)
    if origin is None:
        origin = SignedKeyList.parse(keyring.key_list).content.origin if keyring.key_list else DEFAULT_ORIGIN
    return keyring, origin


def _list_in(file: Path, origin: str | None) -> SignedKeyList:
    """The published list in a file, or that of a key file. Raises Failure."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        text = ""  # reading it as a key file says what is wrong
    try:
        if text.startswith(MAGIC):
            return SignedKeyList.parse(text)
        keyring, name = _loaded(file, origin)
        return keyring.signed_list(name)
    except ValueError as error:  # also BadKeyList and KeyFileError
        raise unusable(str(error)) from None


def _change(change: Callable[[], key_life.Changed]) -> key_life.Changed:
    try:
        return change()
    except ValueError as error:  # also KeyLifeError and KeyFileError
        raise unusable(str(error)) from None


def _say_next(file: Path) -> None:
    hint = f"Running servers take it up within seconds. Publish it: sixledger keys publish {file} -o FILE"
    out().print(Text(hint, "faint"), soft_wrap=True)
