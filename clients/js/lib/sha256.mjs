// SHA-256 and HMAC-SHA-256. WebCrypto has both, but one promise for each of many thousand small pieces costs
// more than the hash, and a page that is not served securely has no WebCrypto at all.

import { concat } from "./bytes.mjs";

const primes = [];
for (let n = 2; primes.length < 64; n++) if (primes.every((p) => n % p)) primes.push(n);

// The first 32 bits of the fraction of a root: exact with integers, floor(2^32 root) mod 2^32.
function fraction(prime, degree) {
  const target = BigInt(prime) << BigInt(32 * degree);
  let low = 0n;
  let high = 1n << 40n;
  while (high - low > 1n) {
    const middle = (low + high) >> 1n;
    if (middle ** BigInt(degree) <= target) low = middle;
    else high = middle;
  }
  return Number(BigInt.asUintN(32, low)) | 0;
}

const START = Int32Array.from(primes.slice(0, 8), (p) => fraction(p, 2));
const K = Int32Array.from(primes, (p) => fraction(p, 3));
const W = new Int32Array(64);

function compress(state, data, at) {
  for (let t = 0; t < 16; t++, at += 4) {
    W[t] = (data[at] << 24) | (data[at + 1] << 16) | (data[at + 2] << 8) | data[at + 3];
  }
  for (let t = 16; t < 64; t++) {
    const x = W[t - 15];
    const y = W[t - 2];
    const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
    const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
    W[t] = (W[t - 16] + s0 + W[t - 7] + s1) | 0;
  }
  let [a, b, c, d, e, f, g, h] = state;
  for (let t = 0; t < 64; t++) {
    const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
    const t1 = (h + s1 + ((e & f) ^ (~e & g)) + K[t] + W[t]) | 0;
    const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
    const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + t1) | 0;
    d = c;
    c = b;
    b = a;
    a = (t1 + t2) | 0;
  }
  state[0] += a;
  state[1] += b;
  state[2] += c;
  state[3] += d;
  state[4] += e;
  state[5] += f;
  state[6] += g;
  state[7] += h;
}

/** H(part || part || …), 32 bytes. */
export function sha256(...parts) {
  const data = parts.length === 1 ? parts[0] : concat(parts);
  const state = START.slice();
  const whole = data.length - (data.length % 64);
  for (let at = 0; at < whole; at += 64) compress(state, data, at);
  const rest = data.length - whole;
  const tail = new Uint8Array(rest < 56 ? 64 : 128);
  tail.set(data.subarray(whole));
  tail[rest] = 0x80;
  const view = new DataView(tail.buffer);
  view.setBigUint64(tail.length - 8, BigInt(data.length) * 8n);
  for (let at = 0; at < tail.length; at += 64) compress(state, tail, at);
  const digest = new Uint8Array(32);
  const out = new DataView(digest.buffer);
  for (let i = 0; i < 8; i++) out.setInt32(4 * i, state[i]);
  return digest;
}

/** M(key, part || part || …), 32 bytes. */
export function hmac(key, ...parts) {
  const block = new Uint8Array(64);
  block.set(key.length > 64 ? sha256(key) : key);
  const inner = sha256(block.map((byte) => byte ^ 0x36), ...parts);
  return sha256(block.map((byte) => byte ^ 0x5c), inner);
}
