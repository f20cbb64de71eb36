"""The JavaScript verifier alone: keys and signatures, what it says of what it did not check, its command line."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from js.node import CLIENT, VERIFIER, run
from sixledger.ledger.file import record_line
from support import forging
from support.ledgers import COMMIT_REVEAL, KEYS, OTHER_SIGNER, Table, copies, find, forge, heads, rechain

BOTH = frozenset({0, 1})
TABLE = Table(mode=COMMIT_REVEAL, signing=BOTH, contributing=BOTH, name="javascript").play()
DATA = TABLE.file(4)

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493


def evaluate(script: str, text: str = "") -> Any:
    """What a script prints as JSON; `lib(name)` imports a module of the client."""
    start = f'const lib = (name) => import("{CLIENT.as_uri()}/lib/" + name + ".mjs");\n'
    done = run("--input-type=module", "-e", start + script, text=text)
    assert done.stderr == ""
    return json.loads(done.stdout)


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    """A whole signed match."""
    path = tmp_path / "match.ledger.jsonl"
    path.write_bytes(DATA)
    return path


# -- keys and signatures -------------------------------------------------------------------------


def _on_the_curve(y: int) -> bool:
    """x² = (y² − 1) / (dy² + 1) has a solution."""
    d = -121665 * pow(121666, -1, P)
    square = (y * y - 1) * pow(d * y * y + 1, -1, P) % P
    return pow(square, (P - 1) // 2, P) <= 1


def test_bad_public_keys_are_told_apart() -> None:
    y8 = 2707385501144840649318225287225658788936804267575313519463743609750303402022
    expected = dict.fromkeys((1, P - 1, 0, y8, P - y8), "small order")
    expected |= dict.fromkeys((P, P + 1, 2**255 - 1), "canonical")
    expected |= {y: "good" if _on_the_curve(y) else "no point" for y in range(2, 40)}
    assert {"good", "no point"} < set(expected.values())
    keys = [(y | sign << 255).to_bytes(32, "little").hex() for y in expected for sign in (0, 1)]
    found = evaluate(f"""
        const [{{ keyFault }}, {{ fromHex }}] = [await lib("ed25519"), await lib("bytes")];
        console.log(JSON.stringify({json.dumps(keys)}.map((key) => keyFault(fromHex(key)) ?? "good")));
    """)
    wanted = [word for word in expected.values() for _ in (0, 1)]
    assert [(word, said) for word, said in zip(wanted, found, strict=True) if word not in said] == []


def test_s_must_be_below_l() -> None:
    """S + L fulfils the equation as well; whoever accepts it lets anyone change a signature."""
    records = copies(TABLE.records)
    with forging.editing(records[1]) as body:
        s = int.from_bytes(body.cause.signature[32:], "little") + L
        body.cause.signature = body.cause.signature[:32] + s.to_bytes(32, "little")
    records = rechain(records)
    found = judge(forging.write(records, heads(records), KEYS, TABLE.game))
    assert (found["verdict"], found["seq"]) == ("BAD_SIGNATURE", 1)


def judge(data: bytes, subtle: str = "undefined") -> Any:
    """The result for a file; `subtle`: what is taken for WebCrypto, in JavaScript."""
    return evaluate(
        f"""
        const {{ verify }} = await lib("verify");
        const parts = [];
        for await (const part of process.stdin) parts.push(part);
        const bytes = new Uint8Array(Buffer.from(Buffer.concat(parts).toString(), "hex"));
        console.log(JSON.stringify(await verify(bytes, {{ subtle: {subtle} }})));
        """,
        data.hex(),
    )


def test_without_ed25519_nothing_is_valid() -> None:
    """An old browser refuses the algorithm; a page that is not served securely has no WebCrypto at all."""
    refusing = '{ importKey: async () => { throw new DOMException("no", "NotSupportedError"); } }'
    for subtle in (refusing, "null"):
        found = judge(DATA, subtle)
        assert found["verdict"] == "INCOMPLETE"
        assert [each["code"] for each in found["incomplete"]] == ["NO_ED25519"]
        assert not found["authenticated"]


def test_without_ed25519_other_faults_are_found() -> None:
    other = forge(TABLE.records, 5, lambda body: body.cause.__setattr__("request_id", bytes(16)))
    mixed = forging.write([*TABLE.records[:5], *other[5:6], *TABLE.records[6:]], heads(TABLE.records), KEYS, TABLE.game)
    found = judge(mixed, "null")
    assert (found["verdict"], found["layer"], found["seq"]) == ("TAMPERED", "chain", 6)


# -- what it says --------------------------------------------------------------------------------


def test_it_says_that_the_rules_were_not_run() -> None:
    found = judge(DATA)
    assert found["summary"] == "VALID so far as checked: rules are not re-run; signer unauthenticated"
    assert found["rulesRun"] is False
    assert any("rules of the game" in each for each in found["notChecked"])
    assert any("readable copy" in each for each in found["notChecked"])
    acts = sum(bool(forging.body_of(record).cause.observed_head) for record in TABLE.records)
    assert f"{acts} signatures of acts" in found["checked"]
    assert "1 draws made again, 3 hands, rows and other parts dealt from them" in found["checked"]


def test_a_hand_that_the_pack_does_not_deal_is_found() -> None:
    """Even if the author seals and signs it: two cards of two hands change places."""
    seq = find(TABLE.records, "hand_dealt")
    records = copies(TABLE.records)
    with forging.editing_secret(records[seq], 1) as first, forging.editing_secret(records[seq], 2) as second:
        hands = [first.nimmt.hand_dealt.cards, second.nimmt.hand_dealt.cards]
        hands[0][0], hands[1][0] = hands[1][0], hands[0][0]
    records = rechain(records)
    found = judge(forging.write(records, heads(records), KEYS, TABLE.game))
    assert found["verdict"] == "RULES_DIVERGENCE"
    assert "not what the pack deals" in found["reason"]
    assert found["seq"] == seq


def test_what_is_no_ledger_has_no_verdict(tmp_path: Path) -> None:
    files = {
        "empty": b"",
        "text": b"hello\n",
        "other": DATA.replace(b"sixledger-ledger/1", b"sixledger-ledger/2", 1),
        "long": DATA + b"{" + b" " * (4 * 2**20 + 1),
        "bomb": gzip.compress(bytes(257 * 2**20), 9),
    }
    paths = []
    for name, data in files.items():
        paths.append(tmp_path / name)
        paths[-1].write_bytes(data)
    done = run(VERIFIER, "--json", *paths, tmp_path / "missing")
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [each["verdict"] for each in found] == [None] * 6
    assert done.returncode == 2
    assert done.stderr == ""


# -- the command line ----------------------------------------------------------------------------


def test_exit_status_and_words(ledger: Path, tmp_path: Path) -> None:
    done = run(VERIFIER, ledger, "--key", KEYS[0])
    assert done.returncode == 0
    assert done.stdout.splitlines()[1] == "  VALID so far as checked: rules are not re-run"
    other = run(VERIFIER, ledger, "--key", OTHER_SIGNER.verifier_key)
    assert other.returncode == 1
    assert "BAD_SIGNATURE: the last head is not signed by a trusted key" in other.stdout
    packed = tmp_path / "match.gz"
    packed.write_bytes(gzip.compress(DATA))
    assert run(VERIFIER, packed).returncode == 0
    running = tmp_path / "running"
    running.write_bytes(Table(name="running").play(3).file())
    assert run(VERIFIER, ledger, running).returncode == 1
    assert run(VERIFIER, "--help").returncode == 0


@pytest.mark.parametrize(
    "words", [[], ["--key"], ["--key", "nonsense", "x"], ["--nonsense", "x"], ["--list", "/missing"]]
)
def test_wrong_arguments_are_explained(words: list[str]) -> None:
    done = run(VERIFIER, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Usage: node verify.mjs" in done.stderr


# -- the page ------------------------------------------------------------------------------------


def test_the_page_is_current() -> None:
    """`node clients/js/build.mjs` builds it."""
    done = run(CLIENT / "build.mjs", "--check")
    assert (done.returncode, done.stderr) == (0, "")


def test_the_page_fetches_nothing() -> None:
    text = (CLIENT / "verify.html").read_text(encoding="utf-8")
    assert "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'" in text
    for word in (" src=", " href=", "@import", "url(", "innerHTML", "fetch(", "XMLHttpRequest", "import("):
        assert word not in text


# -- sizes ---------------------------------------------------------------------------------------


def test_a_line_of_forty_thousand_seals_and_openings_has_a_verdict(tmp_path: Path) -> None:
    """What is as large as it may be takes no longer than it is long."""
    first, line, *rest = DATA.decode().splitlines()
    record = json.loads(line)
    seal = {"audience": "1", "commitment": "A" * 43 + "=", "epoch": 1}
    record["seals"] = [seal] * 40_000
    lines = [first, json.dumps(record, sort_keys=True, separators=(",", ":")), *rest]
    path = tmp_path / "seals"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    done = run(VERIFIER, "--json", path)
    assert json.loads(done.stdout)["layer"] == "chain"


def test_thousands_of_heads_have_a_verdict(tmp_path: Path) -> None:
    notes = heads(TABLE.records) * 5_000
    path = tmp_path / "heads"
    path.write_bytes(forging.write(TABLE.records, notes, KEYS, TABLE.game))
    found = json.loads(run(VERIFIER, "--json", path).stdout)
    assert (found["verdict"], found["reason"]) == ("TAMPERED", "the heads do not ascend")


def test_a_body_of_two_hundred_thousand_events_has_a_verdict(tmp_path: Path) -> None:
    records = copies(TABLE.records)
    with forging.editing(records[-1]) as body:
        ended = body.events.pop()
        for _ in range(200_000):
            body.events.add().nimmt.turn_ended.turn = 1
        body.events.extend((ended, ended))
    records = rechain(records)
    path = tmp_path / "events"
    lines = forging.write(records[:1], heads(records), KEYS, TABLE.game).decode().splitlines()
    lines[1:2] = [record_line(record, {}) for record in records]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = json.loads(run(VERIFIER, "--json", path).stdout)
    assert (found["verdict"], found["seq"]) == ("RULES_DIVERGENCE", len(records) - 1)
    assert found["reason"] == "something happens after the end of the match"
