// Recomputes vectors.json, whose path is given, and prints how many values of each kind fitted. Ends with status 1 and
// the first that does not.

import { readFile } from "node:fs/promises";
import { fromHex, hex, utf8 } from "../../clients/js/lib/bytes.mjs";
import { Stream, epochKey } from "../../clients/js/lib/chance.mjs";
import { Signatures } from "../../clients/js/lib/ed25519.mjs";
import {
  actMessage,
  chainStep,
  commitmentOf,
  contributionCommitment,
  entropyOf,
  keyId,
  recordHash,
  timerId,
} from "../../clients/js/lib/formulas.mjs";
import { readHead, readVerifierKey, signedBy, timeText } from "../../clients/js/lib/heads.mjs";
import { verify } from "../../clients/js/lib/verify.mjs";

const vectors = JSON.parse(await readFile(process.argv[2], "utf8"));
const signatures = new Signatures(crypto.subtle);
const counts = {};
const x = fromHex;

function check(kind, found, expected) {
  const [a, b] = [found, expected].map((each) => JSON.stringify(each));
  if (a !== b) throw new Error(`${kind}: ${a} should be ${b}`);
  counts[kind] = (counts[kind] ?? 0) + 1;
}

for (const { epoch_key: key, label, below, drawn } of vectors.chance) {
  const stream = new Stream(x(key), label);
  for (const [i, n] of below.entries()) check("chance", stream.below(n), drawn[i]);
}
for (const { epoch_key: key, label, first, last, order } of vectors.shuffle) {
  const pack = Array.from({ length: last - first + 1 }, (_, i) => first + i);
  check("shuffle", new Stream(x(key), label).shuffle(pack), order);
}
{
  const { match: id, chain, contributions, contribution_commitments: commitments, entropy, epoch_keys: keys } = vectors.seeds;
  const match = x(id);
  for (let k = 1; k < chain.length; k++) check("seeds", hex(chainStep(match, k, x(chain[k]))), chain[k - 1]);
  const given = contributions.map((each) => (each === null ? undefined : x(each)));
  for (const [seat, each] of given.entries()) {
    if (each) check("seeds", hex(contributionCommitment(match, seat, each)), commitments[seat]);
  }
  check("seeds", hex(entropyOf(match, x(chain[0]), given)), entropy);
  for (const [i, key] of keys.entries()) {
    check("seeds", hex(epochKey(x(chain[i + 1]), match, i + 1, x(entropy))), key);
  }
}
for (const { match, seq, seal, salt, value, commitment } of vectors.seals) {
  check("seals", hex(commitmentOf(x(match), seq, seal, x(salt), x(value))), commitment);
}
for (const { match, seq, previous_hash: previous, body, seals, hash } of vectors.records) {
  const read = seals.map((seal) => ({
    audience: BigInt(seal.audience),
    epoch: seal.epoch,
    commitment: x(seal.commitment),
  }));
  check("records", hex(recordHash(x(match), seq, x(previous), x(body), read)), hash);
}
for (const act of vectors.acts) {
  const cause = {
    seat: act.seat,
    decision: BigInt(act.decision),
    observed_head: x(act.observed_head),
    request_id: x(act.request_id),
  };
  const message = actMessage(x(act.match), cause, act.kind, x(act.payload));
  check("acts", [hex(message), hex(keyId(x(act.public_key)))], [act.message, act.key_id]);
  check("acts", await signatures.verify(x(act.public_key), message, x(act.signature)), true);
}
for (const { note, verifier_key: key, match, count, hash, time_us: time } of vectors.heads) {
  const head = readHead(note);
  check("heads", [head.match, head.count, hex(head.hash), head.time], [match, count, hash, timeText(BigInt(time))]);
  check("heads", await signedBy(head, readVerifierKey(key), signatures), true);
}
for (const name of ["ledger", "lobby", "clocks"]) {
  const text = `${vectors[name].file.join("\n")}\n`;
  const { verdict, summary } = await verify(utf8(text));
  check("files", [verdict, summary.includes("rules are not re-run")], ["VALID", true]);
}
{
  const numbers = { JOIN: 1, CONTRIBUTE: 2, REVEAL: 3, TURN: 4, PAUSE: 5 };
  const match = x(JSON.parse(vectors.clocks.file[0]).match);
  for (const { timer, seat, armed_seq: armed, request_id: id } of vectors.clocks.timers.flat()) {
    check("timers", hex(timerId(match, armed, numbers[timer], seat ?? 0xffff)), id);
  }
}
process.stdout.write(`${JSON.stringify(counts)}\n`);
