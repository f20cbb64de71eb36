"""`sixledger keys`: whom this person trusts, and the key of an own server."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter
from rich.table import Table
from rich.text import Text
from sixledger.cli.failures import Failure, unusable
from sixledger.cli.paths import make_config_folder, trust_file
from sixledger.cli.terminal import out, write_json
from sixledger.client.errors import BadTrustStore, OriginChanged
from sixledger.client.trust import TrustStore
from sixledger.ledger.heads import HeadSigner, VerifierKey
from sixledger.service.keyring import KeyFileError, Keyring

app = App(
    name="keys",
    help="See and manage keys: trusted servers, own server key.",
    help_epilogue=(
        "Examples:\n\n    sixledger keys\n    sixledger keys trust example.org+1a2b3c4d+AQ…\n"
        "    sixledger keys forget example.org\n    sixledger keys generate server.key --origin example.org\n"
        "    sixledger keys show server.key --origin example.org"
    ),
)

Json = Annotated[bool, Parameter("--json", negative="", help="Print JSON for a program.")]
Origin = Annotated[str, Parameter(help="Name of the server that the key belongs to, for example example.org.")]
KeyFile = Annotated[Path, Parameter(help="Key file of a server.")]

#: What a server calls itself unless told otherwise.
DEFAULT_ORIGIN = "localhost"


def trust_store(*, writing: bool = False) -> TrustStore:
    """The store of trusted keys, to read or to add to. Raises Failure if its file is broken."""
    if writing:
        make_config_folder()
    try:
        return TrustStore(trust_file())
    except BadTrustStore as error:
        raise Failure(f"{error}; mend or remove it") from None


def read_verifier_key(text: str) -> VerifierKey:
    """A verifier key given as itself or as a file that holds it. Raises Failure."""
    path = Path(text)
    if "+" not in text or path.exists():
        try:
            text = path.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not a text"
            raise unusable(f"key file {path}: {reason}") from None
    try:
        return VerifierKey.parse(text)
    except ValueError as error:
        raise unusable(f"no verifier key: {error}") from None


@app.command(name="list")
@app.default
def list_keys(*, as_json: Json = False) -> None:
    """List the keys of trusted servers. A server's key is pinned at first contact, as ssh does."""
    pinned = trust_store().keys
    if as_json:
        write_json([{"origin": key.origin, "verifier_key": str(key)} for key in pinned])
        return
    console = out()
    if not pinned:
        console.print("No server is trusted yet: the first contact pins its key.")
    else:
        table = Table(box=None, pad_edge=False, header_style="heading")
        table.add_column("origin", no_wrap=True)
        table.add_column("verifier key", overflow="fold")
        for key in pinned:
            table.add_row(key.origin, str(key))
        console.print(table)
    console.print(Text(f"kept in {trust_file()}", "faint"), soft_wrap=True)


@app.command
def trust(key: Annotated[str, Parameter(help="Verifier key, or a file that holds it.")], /) -> None:
    """Trust the key of a server. Refused if another key of it is trusted already."""
    given = read_verifier_key(key)
    try:
        trust_store(writing=True).pin(given)
    except OriginChanged as error:
        raise Failure(f"{error.message} with: sixledger keys forget {given.origin}") from None
    out().print(Text(f"Trusted: {given.origin}"), soft_wrap=True)


@app.command
def forget(origin: Annotated[str, Parameter(help="Name of the server.")], /) -> None:
    """Forget the key of a server: the next one that it shows will be believed."""
    store = trust_store()
    if store.get(origin) is None:
        known = ", ".join(key.origin for key in store.keys) or "none"
        raise Failure(f"no key of {origin} is trusted; trusted are: {known}")
    store.forget(origin)
    out().print(Text(f"Forgotten: {origin}"), soft_wrap=True)


@app.command
def generate(file: KeyFile, /, *, origin: Origin = DEFAULT_ORIGIN) -> None:
    """Make the key file of a server, readable by you alone, and print its verifier key."""
    try:
        Keyring.generate().save(file)
    except FileExistsError:
        raise Failure(f"{file} exists already; it is not replaced") from None
    _print_key(file, origin)


@app.command
def show(file: KeyFile, /, *, origin: Origin = DEFAULT_ORIGIN) -> None:
    """Print the verifier key of a server's key file: what others need to check its signatures."""
    _print_key(file, origin)


def load_keyring(file: Path) -> Keyring:
    """The keys in a file. Raises Failure."""
    try:
        return Keyring.load(file)
    except KeyFileError as error:
        raise unusable(str(error)) from None
    except OSError as error:
        raise unusable(f"key file {file}: {error.strerror}") from None


def _print_key(file: Path, origin: str) -> None:
    keyring = load_keyring(file)
    try:
        key = HeadSigner(origin, keyring.signing_key).verifier_key
    except ValueError as error:
        raise unusable(str(error)) from None
    out().print(Text(str(key)), soft_wrap=True)
