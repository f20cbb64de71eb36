// The file: gzip, lines, canonical JSON, base64 (docs/spec/ledger.md, section 9).

import { concat, fromBase64, fromHex, textOf, utf8 } from "./bytes.mjs";
import { Fault, Unusable } from "./faults.mjs";
import { readHead, readVerifierKey } from "./heads.mjs";

export const LIMITS = { line: 4 * 2 ** 20, file: 256 * 2 ** 20, records: 2 ** 18, heads: 2 ** 16 };
const FORMAT = "sixledger-ledger/1";
const START = utf8('{"format":"sixledger-ledger/');

/** The bytes of a ledger file, unpacked if they are gzipped, and whether the end of the gzip data was missing. */
export async function unpack(bytes, limit = LIMITS.file) {
  const tooLarge = () => new Unusable(`the file unpacks to more than ${limit} bytes`);
  if (bytes.length > limit) throw tooLarge();
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return { data: bytes, cut: false };
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")).getReader();
  const parts = [];
  let length = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return { data: concat(parts), cut: false };
      length += value.length;
      if (length > limit) throw tooLarge();
      parts.push(value);
    }
  } catch (error) {
    if (error instanceof Unusable) {
      await reader.cancel().catch(() => undefined);
      throw error;
    }
    // Streams tell a missing end from wrong data in words alone.
    const words = `${error?.message} ${error?.code} ${error?.cause?.message} ${error?.cause?.code}`;
    if (/trunc|unexpected end|Z_BUF_ERROR/i.test(words)) return { data: concat(parts), cut: true };
    throw new Fault("TAMPERED", "parse", undefined, "the gzip data are wrong");
  }
}

const tampered = (line, words) => new Fault("TAMPERED", "parse", undefined, words, line);

function hasFractionOrBadText(value) {
  if (typeof value === "number") return !Number.isSafeInteger(value);
  if (typeof value === "string") return !value.isWellFormed();
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(([name, each]) => !name.isWellFormed() || hasFractionOrBadText(each));
}

function sorted(value) {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(sorted);
  // A property __proto__ would be no property; integer-like names would change places. Neither is in a ledger.
  const copy = {};
  for (const name of Object.keys(value).sort()) copy[name] = sorted(value[name]);
  return copy;
}

// One line as an object, if it is in RFC 8785 form.
function parseLine(bytes, number) {
  let text;
  let value;
  try {
    text = textOf(bytes);
    value = JSON.parse(text);
    if (JSON.stringify(sorted(value)) !== text || hasFractionOrBadText(value)) throw new SyntaxError();
  } catch {
    throw tampered(number, "the line is not JSON in its canonical form (RFC 8785)");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw tampered(number, "the line is no object");
  return value;
}

function names(value, ...expected) {
  const found = typeof value === "object" && value !== null && !Array.isArray(value) ? Object.keys(value).sort() : [];
  return found.length === expected.length && expected.every((name, i) => name === found[i]);
}

function decimal(text, most) {
  if (typeof text !== "string" || !/^(0|[1-9][0-9]{0,19})$/.test(text) || BigInt(text) > most) throw new SyntaxError();
  return BigInt(text);
}

function small(value, most) {
  if (!Number.isInteger(value) || value < 0 || value > most) throw new SyntaxError();
  return value;
}

function readHeader(line) {
  const wrong = (words) => tampered(1, `the header ${words}`);
  if (!names(line, "format", "keys", "match", "origin", "ruleset", "viewer")) throw wrong("has other fields");
  const { format, keys, match, origin, ruleset, viewer } = line;
  if (format !== FORMAT) throw new Unusable(`the format ${JSON.stringify(format)} is unknown to this verifier`);
  if (typeof match !== "string" || !/^[0-9a-f]{32}$/.test(match)) throw wrong("names no match");
  if (typeof origin !== "string") throw wrong("names no origin");
  if (!names(ruleset, "digest", "id", "version") || typeof ruleset.id !== "string") throw wrong("names no ruleset");
  if (typeof viewer !== "string" || !/^(spectator|operator|seat:(0|[1-9][0-9]{0,4}))$/.test(viewer)) {
    throw wrong("names no viewer");
  }
  if (!Array.isArray(keys) || !keys.every((key) => typeof key === "string")) throw wrong("has no list of keys");
  if (keys.some((key, i) => i > 0 && keys[i - 1] >= key)) throw wrong("lists its keys in another order, or twice");
  try {
    const digest = fromBase64(ruleset.digest);
    const version = small(ruleset.version, 0xffffffff);
    return {
      keys: keys.map(readVerifierKey),
      match: fromHex(match),
      origin,
      ruleset: { id: ruleset.id, version, digest },
      viewer,
    };
  } catch (error) {
    throw wrong(`is malformed: ${error.message || "a digest or version"}`);
  }
}

function readRecord(line, number) {
  if (!names(line, "body", "hash", "openings", "seals", "shown")) throw tampered(number, "the line has other fields");
  const { openings, seals } = line;
  if (!Array.isArray(openings) || !Array.isArray(seals) || seals.length > 65535) {
    throw tampered(number, "seals and openings are lists, of at most 65535");
  }
  if (openings.length > seals.length) throw tampered(number, "the record has more openings than seals");
  try {
    return {
      body: fromBase64(line.body),
      hash: fromBase64(line.hash),
      seals: seals.map((seal) => {
        if (!names(seal, "audience", "commitment", "epoch")) throw new SyntaxError();
        return {
          audience: decimal(seal.audience, 2n ** 64n - 1n),
          epoch: small(seal.epoch, 0xffffffff),
          commitment: fromBase64(seal.commitment),
        };
      }),
      openings: openings.map((opening) => {
        if (!names(opening, "salt", "seal", "value")) throw new SyntaxError();
        return {
          seal: small(opening.seal, 0xffffffff),
          salt: fromBase64(opening.salt),
          value: fromBase64(opening.value),
        };
      }),
    };
  } catch {
    throw tampered(number, "a value of the line is malformed: base64 or a number");
  }
}

/** Read an unpacked file: { header, records, heads }. Throws Fault and Unusable. */
export function readFile({ data, cut }) {
  const file = { header: undefined, records: [], heads: [] };
  let number = 0;
  checkStart(data);
  for (let at = 0; at < data.length; ) {
    number += 1;
    let end = data.indexOf(10, at);
    const ended = end >= 0;
    if (!ended) end = data.length;
    if (end - at > LIMITS.line) throw new Unusable(`a line has more than ${LIMITS.line} bytes`);
    const bytes = data.subarray(at, end);
    at = end + 1;
    if (!ended) break;
    takeLine(file, parseLine(bytes, number), number);
  }
  if (file.header === undefined) throw new Unusable("the file ends before its header does");
  if (cut) throw new Fault("TRUNCATED", "parse", undefined, "the end of the gzip data is missing", number);
  if (data.at(-1) !== 10) throw new Fault("TRUNCATED", "parse", undefined, "the line has no end", number);
  return file;
}

function takeLine(file, line, number) {
  if (number === 1) file.header = readHeader(line);
  else if (!("head" in line)) {
    if (file.heads.length) throw tampered(number, "a record comes after a head");
    if (file.records.length >= LIMITS.records) throw new Unusable(`there are more than ${LIMITS.records} records`);
    file.records.push(readRecord(line, number));
  } else {
    if (!names(line, "head") || typeof line.head !== "string") throw tampered(number, "the line is no head");
    if (file.heads.length >= LIMITS.heads) throw new Unusable(`there are more than ${LIMITS.heads} heads`);
    try {
      file.heads.push(readHead(line.head));
    } catch (error) {
      throw tampered(number, error.message);
    }
  }
}

// What does not begin like a ledger is another file, not a ledger that somebody changed.
function checkStart(data) {
  if (!START.every((byte, i) => data[i] === byte)) throw new Unusable("this is no ledger file");
}
