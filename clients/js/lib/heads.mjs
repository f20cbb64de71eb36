// Verifier keys and signed heads (docs/spec/ledger.md, section 8).

import { equal, fromBase64, fromHex, hex, textOf, utf8 } from "./bytes.mjs";
import { keyFault } from "./ed25519.mjs";
import { sha256 } from "./sha256.mjs";

const NO_ORIGIN = /[\p{White_Space}\p{Cc}+]/u;

function checkOrigin(origin) {
  const length = [...origin].length;
  if (length < 1 || length > 128 || NO_ORIGIN.test(origin) || !origin.isWellFormed()) {
    throw new SyntaxError("an origin has 1 to 128 characters, none of them white space, + or a control character");
  }
}

/** Read `<origin>+<key hash>+<base64>`. Throws SyntaxError. */
export function readVerifierKey(text) {
  const parts = text.split("+");
  if (parts.length < 3) throw new SyntaxError("a verifier key is <origin>+<key hash>+<base64>");
  const [origin, keyHash] = parts;
  checkOrigin(origin);
  if (!/^[0-9a-f]{8}$/.test(keyHash)) throw new SyntaxError("the key hash of a verifier key is eight hex digits");
  const typed = fromBase64(parts.slice(2).join("+"));
  if (typed.length !== 33 || typed[0] !== 1) throw new SyntaxError("a verifier key is 0x01 and a key of 32 bytes");
  if (hex(sha256(utf8(`${origin}\n`), typed).subarray(0, 4)) !== keyHash) {
    throw new SyntaxError("the key hash of the verifier key does not fit its key");
  }
  const key = typed.slice(1);
  const fault = keyFault(key);
  if (fault !== undefined) throw new SyntaxError(fault);
  return { text, origin, keyHash: fromHex(keyHash), key };
}

/** The time of a record as a head and the readable copy write it. */
export function timeText(us) {
  const micros = (us % 1_000_000n).toString().padStart(6, "0");
  return `${new Date(Number(us / 1000n)).toISOString().slice(0, 19)}.${micros}Z`;
}

/** Read a note: { origin, match, count, hash, time, signed, keyHash, signature }. Throws SyntaxError. */
export function readHead(note) {
  const wrong = (words) => new SyntaxError(`a head ${words}`);
  const lines = note.split("\n");
  if (lines.length !== 9 || lines[6] !== "" || lines[8] !== "") throw wrong("has six lines, an empty one and a signature");
  const [title, origin, match, count, hash, time, , signatureLine] = lines;
  if (title !== "sixledger-head/1") throw wrong("begins with sixledger-head/1");
  checkOrigin(origin);
  if (!/^[0-9a-f]{32}$/.test(match)) throw wrong("names a match in 32 lower-case hex digits");
  if (!/^[1-9][0-9]{0,15}$/.test(count)) throw wrong("counts at least one record, without leading zeros");
  const digest = fromBase64(hash);
  if (digest.length !== 32) throw wrong("has a hash of 32 bytes");
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/.test(time) || Number.isNaN(Date.parse(time))) {
    throw wrong("has a time like 2025-06-15T15:06:40.000000Z");
  }
  const start = `— ${origin} `;
  if (!signatureLine.startsWith(start)) throw wrong("has a signature line of its origin");
  const data = fromBase64(signatureLine.slice(start.length));
  if (data.length !== 68) throw wrong("has a signature of 64 bytes behind a key hash of 4");
  return {
    note,
    origin,
    match,
    count: Number(count),
    hash: digest,
    time,
    signed: utf8(note.slice(0, note.indexOf("\n\n") + 1)),
    keyHash: data.slice(0, 4),
    signature: data.slice(4),
  };
}

/** True if the key signed the head. Throws NoEd25519. */
export async function signedBy(head, key, signatures) {
  return (
    head.origin === key.origin &&
    equal(head.keyHash, key.keyHash) &&
    (await signatures.verify(key.key, head.signed, head.signature))
  );
}

/** The text of bytes of which one may be wrong. Throws SyntaxError instead of TypeError. */
export function noteText(bytes) {
  try {
    return textOf(bytes);
  } catch {
    throw new SyntaxError("a head is UTF-8");
  }
}
