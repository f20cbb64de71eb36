// Bytes and numbers as the specification writes them.

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The bytes of a text. */
export const utf8 = (text) => encoder.encode(text);

/** The text of bytes. Throws TypeError if they are not UTF-8. */
export const textOf = (bytes) => decoder.decode(bytes);

/** u8, u16, u32: an integer, big-endian. */
export const u8 = (n) => Uint8Array.of(n);
export const u16 = (n) => Uint8Array.of(n >>> 8, n);
export const u32 = (n) => Uint8Array.of(n >>> 24, n >>> 16, n >>> 8, n);

/** u64: a BigInt or a safe integer, big-endian. */
export function u64(n) {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(n));
  return bytes;
}

/** Several pieces of bytes as one. */
export function concat(parts) {
  let length = 0;
  for (const part of parts) length += part.length;
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** True if two pieces of bytes are equal. */
export function equal(a, b) {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

const HEX = Array.from({ length: 256 }, (_, n) => n.toString(16).padStart(2, "0"));

/** Lower-case hex digits. */
export function hex(bytes) {
  let text = "";
  for (const byte of bytes) text += HEX[byte];
  return text;
}

/** The bytes of lower-case hex digits. Throws SyntaxError. */
export function fromHex(text) {
  if (!/^([0-9a-f]{2})*$/.test(text)) throw new SyntaxError("no lower-case hex digits");
  return Uint8Array.from(text.match(/../g) ?? [], (digits) => parseInt(digits, 16));
}

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const DIGIT = new Int8Array(128).fill(-1);
for (let i = 0; i < 64; i++) DIGIT[ALPHABET.charCodeAt(i)] = i;

/** The bytes of standard base64 in its only canonical spelling: padded, unused bits zero. Throws SyntaxError. */
export function fromBase64(text) {
  const wrong = () => new SyntaxError("no canonical base64");
  if (typeof text !== "string" || text.length % 4 !== 0) throw wrong();
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  const digits = text.length - padding;
  const bytes = new Uint8Array((text.length / 4) * 3 - padding);
  let at = 0;
  let bits = 0;
  let held = 0;
  for (let i = 0; i < digits; i++) {
    const code = text.charCodeAt(i);
    const digit = code < 128 ? DIGIT[code] : -1;
    if (digit < 0) throw wrong();
    held = ((held << 6) | digit) & 0xffffff;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes[at++] = held >>> bits;
    }
  }
  if (held & ((1 << bits) - 1)) throw wrong();
  return bytes;
}

/** True if two decoded messages, or parts of them, mean the same. */
export function same(a, b) {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (a instanceof Uint8Array) return b instanceof Uint8Array && equal(a, b);
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((each, i) => same(each, b[i]));
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  for (const name of names) if (!same(a[name], b[name])) return false;
  return true;
}
