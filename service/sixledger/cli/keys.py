"""`sixledger keys`: whom this person trusts, and the key of an own server."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter
from rich.table import Table
from rich.text import Text
from sixledger.cli import keys_files
from sixledger.cli.failures import Failure, unusable
from sixledger.cli.keys_files import Json
from sixledger.cli.paths import make_config_folder, trust_file
from sixledger.cli.terminal import out, write_json
from sixledger.client.errors import BadTrustStore, ServerCheated
from sixledger.client.trust import TrustStore
from sixledger.ledger.heads import VerifierKey
from sixledger.ledger.key_list import SignedKeyList, Trust, parse_trust
from sixledger.ledger.key_succession import Step, step

app = App(
    name="keys",
    help="See and manage keys: trusted servers, own server key.",
    help_epilogue=(
        "Examples:\n\n    sixledger keys\n    sixledger keys trust example.org+1a2b3c4d+AQ…\n"
        "    sixledger keys forget example.org\n    sixledger keys generate server.key --origin example.org\n"
        "    sixledger keys show server.key --origin example.org\n"
        "    sixledger keys rotate server.key --origin example.org --at +7d\n"
        "    sixledger keys revoke server.key 1a2b3c4d --since 2027-01-01T00:00:00Z\n"
        "    sixledger keys publish server.key -o example.org.keys"
    ),
)


def trust_store(*, writing: bool = False) -> TrustStore:
    """The store of trusted keys, to read or to add to. Raises Failure if its file is broken."""
    if writing:
        make_config_folder()
    try:
        return TrustStore(trust_file())
    except BadTrustStore as error:
        raise Failure(f"{error}; mend or remove it") from None


def read_trust(text: str) -> Trust:
    """A verifier key given as itself, or a file that holds one or a key list. Raises Failure."""
    path = Path(text)
    if "+" not in text or path.exists():
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not a text"
            raise unusable(f"key file {path}: {reason}") from None
    try:
        return parse_trust(text)
    except ValueError as error:
        raise unusable(f"no verifier key or key list: {error}") from None


def read_trusts(texts: Sequence[str]) -> tuple[Trust, ...]:
    """Several of them. A list that comes with a key of its origin must be one that the key signed. Raises Failure."""
    given = [read_trust(text) for text in texts]
    lists = {each.content.origin: each for each in given if isinstance(each, SignedKeyList)}
    for key in given:
        if not isinstance(key, VerifierKey) or (key_list := lists.get(key.origin)) is None:
            continue
        if (found := step(key, key_list, 0)) is not Step.NEWER:
            why = "is compromised by that list" if found is Step.REVOKED else "did not sign that list"
            raise unusable(f"key and key list of {key.origin} do not go together: the key {key.hash.hex()} {why}")
    return tuple(each for each in given if isinstance(each, SignedKeyList) or each.origin not in lists)


def pinned_trusts() -> dict[str, Trust]:
    """What this person trusts, by origin: key lists, and keys of origins without one."""
    store = trust_store()
    found = {key.origin: store.trusted(key.origin) for key in store.keys}
    return {origin: trust for origin, trust in found.items() if trust is not None}


@app.command(name="list")
@app.default
def list_keys(*, as_json: Json = False) -> None:
    """List the keys of trusted servers. A server's key is pinned at first contact, as ssh does."""
    store = trust_store()
    pinned = store.keys
    numbers = {key.origin: held.content.number for key in pinned if (held := store.key_list(key.origin)) is not None}
    if as_json:
        write_json(
            [{"origin": key.origin, "verifier_key": str(key), "key_list": numbers.get(key.origin)} for key in pinned]
        )
        return
    console = out()
    if not pinned:
        console.print("No server is trusted yet: the first contact pins its key.")
    else:
        table = Table(box=None, pad_edge=False, header_style="heading")
        table.add_column("origin", no_wrap=True)
        table.add_column("verifier key", overflow="fold")
        for key in pinned:
            number = numbers.get(key.origin)
            table.add_row(key.origin, str(key))
            if number is not None:
                table.add_row(Text(f"  key list {number}", "faint"))
        console.print(table)
    console.print(Text(f"kept in {trust_file()}", "faint"), soft_wrap=True)


@app.command
def trust(key: Annotated[str, Parameter(help="Verifier key, or a file that holds it or a key list.")], /) -> None:
    """Trust the key of a server, or follow its key list. Refused if what is trusted already does not vouch for it."""
    given = read_trust(key)
    store = trust_store(writing=True)
    origin = given.origin if isinstance(given, VerifierKey) else given.content.origin
    try:
        if isinstance(given, VerifierKey):
            store.pin(given)
        else:
            store.follow(given)
    except ServerCheated as error:
        raise Failure(f"{error.message} with: sixledger keys forget {origin}") from None
    out().print(Text(f"Trusted: {origin}"), soft_wrap=True)


@app.command
def forget(origin: Annotated[str, Parameter(help="Name of the server.")], /) -> None:
    """Forget the key of a server: the next one that it shows will be believed."""
    store = trust_store()
    if store.get(origin) is None:
        known = ", ".join(key.origin for key in store.keys) or "none"
        raise Failure(f"no key of {origin} is trusted; trusted are: {known}")
    store.forget(origin)
    out().print(Text(f"Forgotten: {origin}"), soft_wrap=True)


for _command in (keys_files.generate, keys_files.show, keys_files.rotate, keys_files.revoke, keys_files.publish):
    app.command(_command)
