// The formulas of the specification (docs/spec/ledger.md, sections 3 to 6). The names there are in the comments.

import { concat, u16, u32, u64, u8, utf8 } from "./bytes.mjs";
import { sha256 } from "./sha256.mjs";

const RECORD = utf8("sixledger/record/1\n");
const SEAL = utf8("sixledger/seal/1\n");

/** H_n. */
export function recordHash(match, seq, previous, body, seals) {
  const parts = [RECORD, match, u64(seq), previous, sha256(body), u16(seals.length)];
  for (const seal of seals) parts.push(u64(seal.audience), u32(seal.epoch), seal.commitment);
  return sha256(concat(parts));
}

/** commitment_j. */
export const commitmentOf = (match, seq, j, salt, value) => sha256(SEAL, match, u64(seq), u16(j), salt, value);

/** ch[k − 1] from ch[k]. */
export const chainStep = (match, k, element) => sha256(utf8("sixledger/chain/1\n"), match, u32(k), element);

/** K_s. */
export const contributionCommitment = (match, seat, contribution) =>
  sha256(utf8("sixledger/contribution/1\n"), match, u16(seat), contribution);

/** X; a contribution that was not given is undefined. */
export function entropyOf(match, commitment, contributions) {
  const parts = [utf8("sixledger/entropy/1\n"), match, commitment, u16(contributions.length)];
  for (const given of contributions) parts.push(u8(given ? 1 : 0), given ?? new Uint8Array(32));
  return sha256(concat(parts));
}

/** What a seat signs. */
export const actMessage = (match, { seat, decision, observed_head, request_id }, kind, payload) =>
  concat([
    utf8("sixledger/act/1\n"),
    match,
    u16(seat),
    u8(kind),
    u64(decision),
    observed_head,
    request_id,
    sha256(payload),
  ]);

/** The id of a public key. */
export const keyId = (key) => sha256(utf8("sixledger/key/1\n"), key).subarray(0, 8);

/** The request id of a timer. */
export const timerId = (match, armedSeq, timer, seat) =>
  sha256(utf8("sixledger/timer/1\n"), match, u64(armedSeq), u8(timer), u16(seat)).subarray(0, 16);
