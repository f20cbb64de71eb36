// A reader of the protobuf wire format for the messages of the tables (docs/spec/ledger.md, sections 1, 2 and 2.1).
//
// A decoded message is an object with a property for every field that is set or has no presence. Numbers of 64 bits
// are BigInts, bytes are Uint8Arrays, enums are numbers. A message that is a oneof has `which` in addition: the name of
// the field that is set, or undefined.

import { textOf } from "./bytes.mjs";
import { ENUMS, MESSAGES } from "./tables.mjs";

/** Bytes that are no message of the schema. */
export class Malformed extends Error {}

const ANY = "google.protobuf.Any";
const VARINTS = new Set(["uint32", "uint64", "sint32", "bool", "enum"]);
const DEFAULTS = { uint32: 0, sint32: 0, enum: 0, uint64: 0n, fixed64: 0n, bool: false, string: "" };

function readTables() {
  const types = new Map();
  types.set(ANY, type(ANY, false, "1 type_url string, 2 value bytes", () => undefined));
  for (const [name, text] of Object.entries(MESSAGES)) {
    const lines = text.split("\n").filter((line) => line.trim());
    const local = new Map(lines.map((line) => [/^\w+/.exec(line)[0], line]));
    const resolve = (word) => {
      if (ENUMS[name].includes(word)) return "enum";
      return local.has(word) ? `${name}.${word}` : word.includes(".") ? word : undefined;
    };
    for (const line of lines) {
      const [, short, oneof, rest] = /^(\w+)( oneof)?\s*(.*)$/.exec(line);
      types.set(`${name}.${short}`, type(`${name}.${short}`, Boolean(oneof), rest, resolve));
    }
  }
  return types;
}

function type(name, oneof, text, resolve) {
  const fields = new Map();
  for (const word of text ? text.split(", ") : []) {
    const [, number, field, kind, mark] = /^(\d+) (\w+) ([\w.]+)([*?]?)$/.exec(word);
    const known = resolve(kind) ?? kind;
    const message = known.includes(".");
    if (!message && !(known in DEFAULTS) && known !== "bytes") throw new Error(`${name}: no type ${kind}`);
    fields.set(Number(number), { name: field, kind: known, message, repeated: mark === "*", presence: mark === "?" });
  }
  return { name, oneof, fields };
}

const TYPES = readTables();

/** The names of the fields of a message. */
export const fieldNames = (name) => Array.from(TYPES.get(name).fields.values(), (field) => field.name);

/** The full name of the message that a field of a message holds. */
export function typeOf(name, field) {
  for (const each of TYPES.get(name).fields.values()) if (each.name === field) return each.kind;
  throw new Error(`${name} has no field ${field}`);
}

/** Decode bytes as the message of this full name. Throws Malformed. */
export function decode(name, bytes) {
  return readInto(blank(TYPES.get(name)), TYPES.get(name), bytes);
}

/** A message without any field that was set. */
export const emptyMessage = (name) => blank(TYPES.get(name));

function blank(kind) {
  const message = {};
  if (kind.oneof) message.which = undefined;
  for (const field of kind.fields.values()) {
    if (field.repeated) message[field.name] = [];
    else if (!field.presence) message[field.name] = field.kind === "bytes" ? new Uint8Array() : DEFAULTS[field.kind];
  }
  return message;
}

// What comes twice: the last value counts, messages merge, and of a oneof only the last field stays.
function readInto(message, kind, bytes) {
  const input = { bytes, at: 0 };
  while (input.at < bytes.length) {
    const tag = readTag(input);
    const field = kind.fields.get(tag >>> 3);
    const wire = tag & 7;
    if (field === undefined) throw new Malformed(`${kind.name} has no field ${tag >>> 3}`);
    if (wire === 2 && field.repeated && VARINTS.has(field.kind)) {
      const inner = { bytes: chunk(input), at: 0 };
      while (inner.at < inner.bytes.length) message[field.name].push(scalar(inner, field.kind));
      continue;
    }
    if (wire !== wireOf(field)) throw new Malformed(`${kind.name}.${field.name} has wire type ${wire}`);
    if (kind.oneof && message.which !== field.name) {
      delete message[message.which];
      message.which = field.name;
    }
    if (field.message) {
      const inner = TYPES.get(field.kind);
      const into = field.repeated ? blank(inner) : message[field.name] ?? blank(inner);
      readInto(into, inner, chunk(input));
      if (field.repeated) message[field.name].push(into);
      else message[field.name] = into;
    } else {
      const value = scalar(input, field.kind);
      if (field.repeated) message[field.name].push(value);
      else message[field.name] = value;
    }
  }
  return message;
}

function wireOf(field) {
  if (VARINTS.has(field.kind)) return 0;
  return field.kind === "fixed64" ? 1 : 2;
}

function scalar(input, kind) {
  switch (kind) {
    case "uint32":
      return varint(input) >>> 0;
    case "enum":
      return varint(input) | 0;
    case "sint32": {
      const n = varint(input);
      return (n >>> 1) ^ -(n & 1);
    }
    case "bool":
      return varint64(input) !== 0n;
    case "uint64":
      return varint64(input);
    case "fixed64": {
      const { bytes, at } = input;
      if (at + 8 > bytes.length) throw new Malformed("a number is cut off");
      input.at += 8;
      return new DataView(bytes.buffer, bytes.byteOffset + at, 8).getBigUint64(0, true);
    }
    case "string":
      try {
        return textOf(chunk(input));
      } catch (error) {
        if (error instanceof Malformed) throw error;
        throw new Malformed("a text is not UTF-8");
      }
    default:
      return chunk(input).slice();
  }
}

// The lowest 32 bits of a number.
function varint(input) {
  const first = input.bytes[input.at];
  if (first < 128) {
    input.at += 1;
    return first;
  }
  return Number(BigInt.asUintN(32, varint64(input)));
}

// A tag has at most five bytes and fits in 32 bits; 0 is no field number.
function readTag(input) {
  const first = input.bytes[input.at];
  if (first < 128 && first >= 8) {
    input.at += 1;
    return first;
  }
  const tag = varint64(input, 5n);
  if (tag > 0xffffffffn || tag < 8n) throw new Malformed("a field number is out of range");
  return Number(tag);
}

function varint64(input, most = 10n) {
  let value = 0n;
  for (let i = 0n; i < most; i++) {
    if (input.at >= input.bytes.length) throw new Malformed("a number is cut off");
    const byte = input.bytes[input.at++];
    value |= BigInt(byte & 127) << (7n * i);
    if (byte < 128) return BigInt.asUintN(64, value);
  }
  throw new Malformed(`a number is longer than ${most} bytes`);
}

function chunk(input) {
  const length = varint64(input);
  if (length > BigInt(input.bytes.length - input.at)) throw new Malformed("a field is cut off");
  const start = input.at;
  input.at += Number(length);
  return input.bytes.subarray(start, input.at);
}
