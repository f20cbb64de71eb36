// Ed25519 as the specification wants it (section 6): WebCrypto verifies, and what implementations of it judge
// differently is decided here before: the key is canonical, on the curve and not of small order, and S < L.

import { hex } from "./bytes.mjs";

const P = 2n ** 255n - 19n;
const L = 2n ** 252n + 27742317777372353535851937790883648493n;
const D = 37095705934669439343138083508754565189542113879843219016388785533085940283555n;
// The y of the points of order 1, 2, 4 and 8; the points of order 8 share two.
const Y8 = 2707385501144840649318225287225658788936804267575313519463743609750303402022n;
const SMALL_ORDER = new Set([1n, P - 1n, 0n, Y8, P - Y8]);

/** Thrown where the browser, or whatever runs this, has no Ed25519. */
export class NoEd25519 extends Error {
  constructor() {
    super("this browser or runtime has no Ed25519 in its WebCrypto");
  }
}

function little(bytes) {
  let value = 0n;
  for (let i = bytes.length - 1; i >= 0; i--) value = (value << 8n) | BigInt(bytes[i]);
  return value;
}

function power(base, exponent) {
  let result = 1n;
  for (let bits = exponent, square = base; bits; bits >>= 1n, square = (square * square) % P) {
    if (bits & 1n) result = (result * square) % P;
  }
  return result;
}

/** What is wrong with a public key of 32 bytes, or undefined. */
export function keyFault(key) {
  const y = little(key) & (2n ** 255n - 1n);
  if (y >= P) return "the public key is not canonical";
  if (SMALL_ORDER.has(y)) return "the public key is of small order";
  const square = (y * y) % P;
  const u = square - 1n + P;
  const v = (D * square + 1n) % P;
  // x² = u / v has a solution just if u · v is a square, or 0.
  if (power((u * v) % P, (P - 1n) / 2n) > 1n) return "the public key is no point of the curve";
  return undefined;
}

/** Verifies signatures and keeps the keys that it has seen. */
export class Signatures {
  /** `subtle`: a SubtleCrypto, or null where there is none. */
  constructor(subtle) {
    this.subtle = subtle;
    this.keys = new Map();
  }

  /** What is wrong with a public key, or undefined. */
  async fault(key) {
    return (await this.entry(key)).fault;
  }

  /** True if the signature is that of the key over the message. Throws NoEd25519. */
  async verify(key, message, signature) {
    const { fault, handle } = await this.entry(key);
    if (fault !== undefined || signature.length !== 64 || little(signature.subarray(32)) >= L) return false;
    if (handle === undefined) throw new NoEd25519();
    return this.subtle.verify("Ed25519", handle, signature, message);
  }

  async entry(key) {
    const name = hex(key);
    let entry = this.keys.get(name);
    if (entry === undefined) {
      entry = { fault: key.length === 32 ? keyFault(key) : "a public key has 32 bytes", handle: undefined };
      if (entry.fault === undefined && this.subtle) {
        try {
          entry.handle = await this.subtle.importKey("raw", key, "Ed25519", false, ["verify"]);
        } catch (error) {
          // The key is a good one: what is refused is the algorithm.
          if (error?.name !== "NotSupportedError" && error?.name !== "SyntaxError") throw error;
        }
      }
      this.keys.set(name, entry);
    }
    return entry;
  }
}
