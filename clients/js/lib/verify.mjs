// The whole verification, layer by layer (docs/spec/ledger.md, section 10).

import { Table } from "./acts.mjs";
import { equal, fromBase64, hex } from "./bytes.mjs";
import { Signatures } from "./ed25519.mjs";
import { Fault } from "./faults.mjs";
import { readFile, unpack } from "./file.mjs";
import { checkChain, checkHeader, checkHeads, checkOpenings, checkSeeds } from "./layers.mjs";

/** The rulesets whose deals this verifier knows (section 7). */
export const RULESETS = [
  { id: "forces", version: 1, digest: "MnTZyis3iXlEqXidTaTg9zXNhzZayW99oH2X+dK4EFY=" },
  { id: "nimmt", version: 1, digest: "irxuUuD2VACX3U/HwUD0+xI3qpKYi5D5Rp6Fi1TYsOk=" },
  { id: "piece", version: 1, digest: "UpkVapwDURELgpwAx6uM1ja2lKvCJi2yfWFKPmEFrqI=" },
];

const RULES = "the rules of the game: whether each command was legal and every event and score follows from it";
const COPY = "the readable copy (shown) beside each record: it proves nothing, read the records instead";
const CLOCKS = "deadlines: whether a timer fired when it should, and no other act came too late";

/**
 * Verify the bytes of a ledger file.
 *
 * `options.keys`: verifier keys (of readVerifierKey) that are trusted; `options.subtle`: another SubtleCrypto, or null for none.
 *
 * The result: `verdict` (a name of the specification); `valid`; `summary`; for a fault its `layer`, `seq` (the first
 * bad record, or null), `line` (of the file, or null) and `reason`; `incomplete`: codes with words of what prevents VALID (MATCH_RUNS, SEALED_PARTS,
 * NO_ED25519); `authenticated`: a trusted key signed the last head; `checked` and `notChecked`; and facts of the file.
 * Throws Unusable for what is no ledger or beyond the limits.
 */
export async function verify(bytes, { keys = [], subtle = globalThis.crypto?.subtle ?? null } = {}) {
  const result = {
    verdict: undefined,
    valid: false,
    summary: "",
    layer: null,
    seq: null,
    line: null,
    reason: "",
    incomplete: [],
    authenticated: false,
    rulesRun: false,
    checked: [],
    notChecked: [RULES, COPY, CLOCKS],
  };
  try {
    await run(bytes, keys, new Signatures(subtle), result);
    result.verdict = result.incomplete.length ? "INCOMPLETE" : "VALID";
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    Object.assign(result, {
      verdict: error.verdict,
      layer: error.layer,
      seq: error.seq ?? null,
      line: error.line ?? null,
      reason: error.message,
      incomplete: [],
      authenticated: false,
    });
  }
  result.valid = result.verdict === "VALID";
  result.summary = summaryOf(result);
  return result;
}

async function run(bytes, keys, signatures, result) {
  const file = readFile(await unpack(bytes));
  const { header, records, heads } = file;
  Object.assign(result, {
    match: hex(header.match),
    origin: header.origin,
    ruleset: `${header.ruleset.id}@${header.ruleset.version}`,
    viewer: header.viewer,
    records: records.length,
    heads: heads.length,
  });
  const done = (words) => result.checked.push(words);
  if (!records.length) throw new Fault("TRUNCATED", "parse", undefined, "the file has no record");
  done("the form of the file");
  const bodies = checkChain(records);
  const opened = openedBy(bodies[0]);
  done(`the chain of ${records.length} records, and that times never decrease`);
  const { verified, authenticated } = await checkHeads(file, bodies, keys, signatures);
  result.authenticated = authenticated;
  done(verified ? `${heads.length} signed heads` : `${heads.length} heads, but for their signatures`);
  const openings = checkOpenings(file, bodies, opened);
  done(`${openings} openings of ${header.viewer}, each against its seal, and that none is missing`);
  const chain = checkSeeds(bodies, opened);
  done(`the seeds of ${chain.size} epochs of ${opened.epochs}`);
  checkHeader(file, bodies, opened);
  const game = knownGame(opened);
  const table = new Table(opened, bodies[0].match_id, game, chain, signatures);
  for (const [seq, record] of records.entries()) await table.take(record, bodies[seq], seq);
  report(result, table, verified);
}

function openedBy(body) {
  const step = body.lifecycle[0];
  if (step?.which !== "opened") throw new Fault("TAMPERED", "parse", 0, "record 0 does not open a match");
  return step.opened;
}

function knownGame(opened) {
  const { id = "", version = 0, digest = new Uint8Array() } = opened.ruleset ?? {};
  const known = RULESETS.find((each) => each.id === id && each.version === version);
  if (known === undefined || !equal(fromBase64(known.digest), digest)) {
    const words = `the ruleset ${JSON.stringify(id)} version ${version} is not known to this verifier`;
    throw new Fault("UNKNOWN_RULESET", "acts", 0, words);
  }
  const { mode, seats, epochs } = opened;
  if (mode < 1 || mode > 3 || seats < 1 || seats > 64 || epochs < 1 || epochs > 1000) {
    throw new Fault("TAMPERED", "acts", 0, "record 0 states no possible match");
  }
  return id;
}

function report(result, table, verified) {
  const done = (words) => result.checked.push(words);
  const { counts, deals } = table;
  if (counts.signatures) done(`${counts.signatures} signatures of acts`);
  const { closed, contributed, withheld } = table.seats;
  if (closed) done(`the contributions of ${contributed.size} of ${closed.length} seats`);
  if (withheld.size) done(`that seats ${[...withheld].join(", ")} withheld theirs`);
  if (deals) {
    done("the entropy of the match");
    done(`${deals.drawn} draws made again, ${deals.hands} hands, rows and other parts dealt from them`);
  }
  const later = (code, words) => result.incomplete.push({ code, words });
  if (table.noEd25519 || !verified) later("NO_ED25519", "there is no Ed25519 here, so signatures could not be verified");
  if (!table.over) later("MATCH_RUNS", "the match is not over");
  if (table.sealedRecords.length) {
    later("SEALED_PARTS", `${table.sealedRecords.length} records hold parts that are sealed for ${result.viewer}`);
  }
  if (counts.sealedSignatures) result.notChecked.push(`${counts.sealedSignatures} signatures that are sealed`);
  if (counts.unsigned) result.notChecked.push(`who made ${counts.unsigned} acts: their seats have no key`);
  if (deals?.hidden) result.notChecked.push(`${deals.hidden} draws whose epoch is not revealed`);
  if (!result.authenticated) result.notChecked.push("who signed the heads: no trusted key was given");
}

function summaryOf({ verdict, seq, line, reason, incomplete, authenticated }) {
  if (verdict === "VALID") {
    return `VALID so far as checked: rules are not re-run${authenticated ? "" : "; signer unauthenticated"}`;
  }
  if (verdict === "INCOMPLETE") {
    return `INCOMPLETE: nothing wrong so far as checked, but ${incomplete.map(({ words }) => words).join("; ")}`;
  }
  const place = seq !== null ? ` at record ${seq}` : line !== null ? ` at line ${line}` : "";
  return `${verdict}${place}: ${reason}`;
}
