// The seats before the start: who sits where with which key, and what they contribute (docs/spec/ledger.md, section 6).

import { equal, same } from "./bytes.mjs";
import { contributionCommitment, entropyOf } from "./formulas.mjs";
import { TABLE } from "./records.mjs";

const [COMMIT_REVEAL, SERVER_ONLY] = [1, 3];
const [CONTRIBUTE, REVEAL] = [2, 3];
const GO_ON = 2;

/** Follows the seats of one match. What is wrong is thrown with `fail(verdict, words)`. */
export class Seats {
  constructor(opened, match, fail) {
    Object.assign(this, { opened, match, fail });
    //: Those that are taken; after `closed` exactly the seats that play.
    this.taken = new Map();
    this.closed = undefined;
    this.committed = new Map();
    this.contributed = new Map();
    this.withheld = new Set();
    this.sealed = false;
  }

  illegal(words) {
    this.fail("ILLEGAL_COMMAND", words);
  }

  /** The key of a seat: empty if it has none, undefined if nobody sits there. */
  key(seat) {
    return this.taken.get(seat)?.key;
  }

  joined(seat, { public_key: key, contributes, hosted = false }) {
    if (this.closed) this.illegal("the seats are closed");
    if (seat >= this.opened.seats || this.taken.has(seat)) this.illegal(`seat ${seat} is not free`);
    if (contributes && (this.opened.mode === SERVER_ONLY || hosted)) this.illegal("the seat may not contribute");
    if (hosted && key.length) this.illegal("a hosted seat has a key");
    this.taken.set(seat, { key, contributes, hosted, ready: hosted });
  }

  left(seat) {
    if (this.closed) this.illegal("the seats are closed");
    this.taken.delete(seat);
  }

  ready(seat) {
    const here = this.taken.get(seat);
    if (this.closed || !this.opened.ready_seats || here.ready) this.illegal("the seat cannot become ready");
    here.ready = true;
  }

  /** The seats close; `first`: in record 0, so that nobody has joined. */
  close(recorded, cause, first) {
    if (this.closed) this.illegal("the seats are closed");
    if (first) {
      const nobody = { key: new Uint8Array(), contributes: false, hosted: false };
      for (let seat = 0; seat < this.opened.seats; seat++) this.taken.set(seat, nobody);
    }
    const owner = cause.kind === TABLE && !first;
    const verdict = owner ? "ILLEGAL_COMMAND" : "RULES_DIVERGENCE";
    const count = this.taken.size;
    const seats = Array.from({ length: count }, (_, seat) => this.taken.get(seat));
    if (count < 1 || seats.includes(undefined)) this.fail(verdict, "the seats close with gaps");
    const { ready_seats: least } = this.opened;
    const waits = least ? count < (owner ? 1 : least) || seats.some((seat) => !seat.ready) : false;
    if (waits || (!least && !owner && count !== this.opened.seats)) this.fail(verdict, "the table is not complete");
    const facts = seats.map(({ key, contributes, hosted }) => ({ public_key: key, contributes, hosted }));
    const found = recorded.map((seat) => ({ ...seat, hosted: seat.hosted === true }));
    if (!same(found, facts)) this.fail("RULES_DIVERGENCE", "the seats close as other ones than they are");
    this.closed = seats;
  }

  commit(seat, { commitment }) {
    const free = this.owes(seat) && !this.committed.has(seat) && this.opened.mode === COMMIT_REVEAL;
    if (!free || commitment.length !== 32) this.illegal("the seat has nothing to commit to, or not with 32 bytes");
    this.committed.set(seat, commitment);
  }

  contribute(seat, { contribution }) {
    const free = this.owes(seat) && !this.contributed.has(seat) && this.opened.mode !== SERVER_ONLY;
    if (!free || contribution.length !== 32) this.illegal("the seat may not contribute now, or not with 32 bytes");
    if (this.opened.mode === COMMIT_REVEAL) {
      if (this.contributors().some((each) => !this.committed.has(each))) this.illegal("not all have committed");
      if (!equal(this.committed.get(seat), contributionCommitment(this.match, seat, contribution))) {
        this.fail("SEED_MISMATCH", "the contribution is another than the seat committed to");
      }
    }
    this.contributed.set(seat, contribution);
  }

  /** The match goes on without what these seats owe. */
  withhold({ timer, seats }, cause) {
    this.checkMissed({ timer, seats }, cause);
    if (this.opened.clock?.withheld !== GO_ON || ![CONTRIBUTE, REVEAL].includes(timer)) {
      this.fail("RULES_DIVERGENCE", "the match does not go on without the contributions that are missing");
    }
    for (const seat of seats) this.withheld.add(seat);
    if (!this.contributors().length) this.fail("RULES_DIVERGENCE", "no seat is left that contributes");
  }

  /** Seats that missed a deadline before the start are those of which something is missing. */
  checkMissed({ timer, seats }, cause) {
    if (timer !== cause.timer) this.fail("RULES_DIVERGENCE", "another deadline is named than the one that passed");
    const owed = timer === CONTRIBUTE || timer === REVEAL;
    const missing = owed ? (this.closed && !this.sealed ? this.missing() : undefined) : [];
    if (!same(missing, seats)) this.fail("RULES_DIVERGENCE", "other seats are named than those that missed the deadline");
  }

  /** X, once nothing is missing. */
  entropy() {
    if (!this.closed || this.sealed) this.fail("RULES_DIVERGENCE", "the entropy is sealed twice, or before the seats close");
    this.sealed = true;
    return entropyOf(this.match, this.opened.commitment, this.closed.map((_, seat) => this.contributed.get(seat)));
  }

  /** True if the seats are closed and nothing is missing. */
  get complete() {
    return this.closed !== undefined && this.contributors().every((seat) => this.contributed.has(seat));
  }

  owes(seat) {
    return this.closed !== undefined && !this.sealed && this.closed[seat].contributes && !this.withheld.has(seat);
  }

  contributors() {
    return this.closed.flatMap((seat, number) => (seat.contributes && !this.withheld.has(number) ? [number] : []));
  }

  missing() {
    const without = (given) => this.contributors().filter((seat) => !given.has(seat));
    const commitments = this.opened.mode === COMMIT_REVEAL ? without(this.committed) : [];
    return commitments.length ? commitments : without(this.contributed);
  }
}
