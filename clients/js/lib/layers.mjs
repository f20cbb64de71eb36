// The layers before the acts: chain, clocks, heads, openings, seeds, header (docs/spec/ledger.md, section 10).

import { equal, hex } from "./bytes.mjs";
import { NoEd25519 } from "./ed25519.mjs";
import { Fault } from "./faults.mjs";
import { chainStep, commitmentOf, recordHash } from "./formulas.mjs";
import { signedBy, timeText } from "./heads.mjs";
import { readBody } from "./records.mjs";

/** Bodies, match, numbers, hashes and times, record by record. Returns the bodies. */
export function checkChain(records) {
  const bodies = [];
  let previous = new Uint8Array(32);
  for (const [seq, record] of records.entries()) {
    const body = readBody(record, seq);
    const wrong = (words, layer = "chain") => new Fault("TAMPERED", layer, seq, words);
    bodies.push(body);
    if (record.seals.some((seal) => seal.commitment.length !== 32)) throw wrong("a commitment has not 32 bytes", "parse");
    if (!equal(body.match_id, bodies[0].match_id)) throw wrong("the record is of another match");
    if (body.seq !== BigInt(seq)) throw wrong(`the record says that it is number ${body.seq}`);
    previous = recordHash(body.match_id, seq, previous, record.body, record.seals);
    if (!equal(previous, record.hash)) throw wrong("the hash is not that of the record");
    if (seq && body.time_us < bodies[seq - 1].time_us) throw wrong("it is earlier than the one before", "clocks");
  }
  return bodies;
}

/** Signatures and counts of the heads; `trusted` are verifier keys. Returns { verified, authenticated }. */
export async function checkHeads({ header, records, heads }, bodies, trusted, signatures) {
  const match = hex(bodies[0].match_id);
  const fault = (verdict, words, seq) => new Fault(verdict, "heads", seq, words);
  let verified = true;
  const signed = async (head, keys) => {
    try {
      for (const key of keys) if (await signedBy(head, key, signatures)) return true;
      return false;
    } catch (error) {
      if (!(error instanceof NoEd25519)) throw error;
      verified = false;
      return true;
    }
  };
  const strangers = new Set();
  for (const head of heads) {
    if (head.match !== match) throw fault("TAMPERED", "a head is of another match");
    const known = trusted.length > 0 && (await signed(head, trusted));
    if (!known && trusted.length) strangers.add(head);
    if (!known && !(await signed(head, header.keys))) {
      throw fault("BAD_SIGNATURE", `the head of ${head.count} records is not signed by a known key`);
    }
  }
  // Whoever adds heads of a key of his own proves nothing against the origin, nor for it.
  const telling = heads.filter((head) => !strangers.has(head));
  const byCount = [...telling].sort((a, b) => a.count - b.count);
  checkForks(byCount, trusted.length > 0, fault);
  if (new Set(heads.map((head) => head.origin)).size > 1) throw fault("TAMPERED", "the heads are of two origins");
  if (heads.some((head, i) => i > 0 && heads[i - 1].count >= head.count)) {
    throw fault("TAMPERED", "the heads do not ascend");
  }
  const fits = ({ count, hash, time }) =>
    count <= records.length && equal(hash, records[count - 1].hash) && time === timeText(bodies[count - 1].time_us);
  checkFits(telling, fits, records.length, trusted.length > 0, fault);
  if (![...strangers].every(fits)) throw fault("BAD_SIGNATURE", "a head does not fit, and no trusted key signed it");
  const last = heads.at(-1);
  if (last?.count !== records.length) throw fault("TRUNCATED", "there is no head of the last record", records.length);
  if (strangers.has(last)) throw fault("BAD_SIGNATURE", "the last head is not signed by a trusted key");
  return { verified, authenticated: trusted.length > 0 && verified };
}

// True if whoever signed one of two heads answers for the other: trusted keys are all the origin's.
const oneSigner = (a, b, trusted) => a.origin === b.origin && (trusted || equal(a.keyHash, b.keyHash));

// Two heads of one count that differ prove that their signer told two stories.
function checkForks(heads, trusted, fault) {
  for (let i = 1; i < heads.length; i++) {
    const [a, b] = [heads[i - 1], heads[i]];
    if (a.count !== b.count || (a.origin === b.origin && equal(a.hash, b.hash) && a.time === b.time)) continue;
    const words = `two signed heads of ${a.count} records differ`;
    if (!oneSigner(a, b, trusted)) throw fault("BAD_SIGNATURE", `${words}: of two keys, of which none is known`);
    throw fault("EQUIVOCATION", words, a.count - 1);
  }
}

function checkFits(heads, fits, there, trusted, fault) {
  const misfit = heads.find((head) => !fits(head));
  if (misfit === undefined) return;
  const { count } = misfit;
  if (count > there) throw fault("TRUNCATED", `a head vouches for ${count} records, and there are ${there}`, there);
  const fitting = heads.filter(fits);
  // The first bad record is the first that no fitting head vouches for.
  const first = fitting.reduce((most, head) => (head.count < count ? Math.max(most, head.count) : most), 0);
  if (fitting.some((head) => head.count > count && oneSigner(head, misfit, trusted))) {
    throw fault("EQUIVOCATION", `the head of ${count} records contradicts a later one`, first);
  }
  throw fault("TAMPERED", `the head of ${count} records does not fit them`, first);
}

/** Each opening fits its seal, and they are exactly those of the viewer, the weakest that fits. Returns their number. */
export function checkOpenings({ header, records }, bodies, opened) {
  const match = bodies[0].match_id;
  const wrong = (seq, words) => new Fault("BAD_OPENING", "openings", seq, words);
  let revealed = 0;
  for (const body of bodies) for (const reveal of body.reveals) revealed = Math.max(revealed, reveal.epoch);
  const all = (1n << 64n) - 1n;
  let count = 0;
  let seats = (1n << BigInt(Math.min(opened.seats, 64))) - 1n; // those that have exactly these openings, as bits
  let spectator = true;
  let operator = true;
  for (const [seq, record] of records.entries()) {
    const open = new Set();
    let latest = -1;
    for (const { seal, salt, value } of record.openings) {
      if (seal <= latest || seal >= record.seals.length) throw wrong(seq, "the openings do not ascend, or have no seal");
      latest = seal;
      if (salt.length !== 32) throw wrong(seq, `the salt of opening ${seal} has ${salt.length} bytes`);
      if (!equal(commitmentOf(match, seq, seal, salt, value), record.seals[seal].commitment)) {
        throw wrong(seq, `opening ${seal} does not fit its seal`);
      }
      open.add(seal);
      count += 1;
    }
    for (const [j, { audience, epoch }] of record.seals.entries()) {
      const everybody = epoch !== 0 && epoch <= revealed;
      if (open.has(j)) {
        if (everybody) continue;
        spectator = false;
        seats &= audience;
        if (!entitled(header.viewer, audience)) throw wrong(seq, `${header.viewer} may not have opening ${j}`);
      } else {
        operator = false;
        if (everybody) spectator = false;
        seats &= everybody ? 0n : all ^ audience;
        if (everybody || entitled(header.viewer, audience)) throw wrong(seq, `${header.viewer} lacks opening ${j}`);
      }
    }
  }
  const weakest = spectator ? "spectator" : seats ? `seat:${lowest(seats)}` : operator ? "operator" : undefined;
  if (weakest !== header.viewer) {
    throw wrong(undefined, `the openings are those of ${weakest ?? "nobody"}, the header says ${header.viewer}`);
  }
  return count;
}

function entitled(viewer, audience) {
  if (!viewer.startsWith("seat:")) return viewer === "operator";
  return ((audience >> BigInt(viewer.slice(5))) & 1n) === 1n;
}

function lowest(bits) {
  let seat = 0;
  while (!((bits >> BigInt(seat)) & 1n)) seat += 1;
  return seat;
}

/** Every reveal leads to C. Returns the seeds of all revealed epochs by number, those between included. */
export function checkSeeds(bodies, opened) {
  const match = bodies[0].match_id;
  const chain = new Map();
  let last = 0;
  let element = opened.commitment;
  if (element.length !== 32) throw new Fault("TAMPERED", "seeds", 0, `the commitment has ${element.length} bytes`);
  for (const [seq, body] of bodies.entries()) {
    for (const { epoch, chain: revealed } of body.reveals) {
      const wrong = (words) => new Fault("SEED_MISMATCH", "seeds", seq, words);
      const most = Math.min(opened.epochs, 1000);
      if (epoch <= last || epoch > most) throw wrong(`the epoch ${epoch} cannot be revealed after ${last}`);
      if (revealed.length !== 32) throw wrong(`the seed of epoch ${epoch} has ${revealed.length} bytes`);
      let step = revealed;
      for (let k = epoch; k > last; k--) {
        chain.set(k, step);
        step = chainStep(match, k, step);
      }
      if (!equal(step, element)) throw wrong(`the seed of epoch ${epoch} does not lead to what was committed to`);
      last = epoch;
      element = revealed;
    }
  }
  return chain;
}

/** Match, ruleset, origin and keys of the header are those of the records and heads. */
export function checkHeader({ header, heads }, bodies, opened) {
  const wrong = (words) => new Fault("TAMPERED", "parse", undefined, `the header names ${words}`, 1);
  if (!equal(header.match, bodies[0].match_id)) throw wrong("another match");
  const { id, version, digest } = opened.ruleset ?? { id: "", version: 0, digest: new Uint8Array() };
  const { ruleset } = header;
  if (ruleset.id !== id || ruleset.version !== version || !equal(ruleset.digest, digest)) throw wrong("another ruleset");
  if (heads.some((head) => head.origin !== header.origin)) throw wrong("another origin");
  const signers = new Set(heads.map((head) => hex(head.keyHash)));
  const named = header.keys.map((key) => hex(key.keyHash));
  if (header.keys.some((key) => key.origin !== header.origin) || !same(signers, named)) throw wrong("other keys");
}

const same = (signers, named) => named.length === signers.size && named.every((each) => signers.has(each));
