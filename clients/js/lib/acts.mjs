// The acts of the table and the seats: who may act, with which key, and what was contributed (docs/spec/ledger.md,
// section 6). The rules of the games are not run: whether a command was legal is not judged here.

import { equal, hex, same } from "./bytes.mjs";
import { Deals } from "./deals.mjs";
import { Decisions } from "./decisions.mjs";
import { NoEd25519 } from "./ed25519.mjs";
import { Fault } from "./faults.mjs";
import { actMessage, keyId, timerId } from "./formulas.mjs";
import { SEAT, TABLE, TIMER, readActs } from "./records.mjs";
import { Seats } from "./seats.mjs";

const KINDS = { command: 1, joined: 2, committed: 3, contributed: 4, left: 5, resigned: 6, ready: 7 };
const TURN = 4;
const NOTHING = new Uint8Array();

/** Goes through the records of one match, in order. */
export class Table {
  /** `chain`: the revealed seeds by epoch. */
  constructor(opened, match, game, chain, signatures) {
    Object.assign(this, { opened, match, game, chain, signatures });
    this.seats = new Seats(opened, match, (verdict, words) => this.fail(verdict, words));
    this.over = false;
    this.paused = false;
    this.deals = undefined;
    this.decisions = undefined;
    //: The record that opened each decision, by its number.
    this.openedAt = [0];
    //: The number of each record by its hash.
    this.numbers = new Map();
    this.requests = new Set();
    this.counts = { signatures: 0, unsigned: 0, sealedSignatures: 0, timers: 0 };
    this.sealedRecords = [];
    this.noEd25519 = false;
  }

  /** Take record `seq`. Throws Fault. */
  async take(record, body, seq) {
    this.seq = seq;
    const acts = readActs(record, body, seq, this.game);
    this.checkRequest(body.cause);
    const act = this.classify(body, acts);
    await this.checkSignature(body, act, acts);
    if (this.over) this.fail("ILLEGAL_COMMAND", "the match is over");
    this.checkDecision(body);
    const before = this.epoch();
    for (const [index, step] of body.lifecycle.entries()) this.step(step, index, body);
    this.checkSteps(body);
    this.events(body, acts);
    this.checkSeals(record, body, acts.secrets, before);
    this.checkReveals(body, before);
    this.checkCause(body);
    this.numbers.set(hex(record.hash), seq);
    if (this.decisions && this.openedAt.length <= this.decisions.number) {
      // Numbers that another followed in the same record never held after a record.
      while (this.openedAt.length < this.decisions.number) this.openedAt.push(undefined);
      this.openedAt.push(seq);
    }
  }

  fail(verdict, words) {
    throw new Fault(verdict, "acts", this.seq, words);
  }

  get decision() {
    return this.decisions?.number ?? 0;
  }

  checkRequest(cause) {
    const name = `${cause.kind}/${cause.seat}/${hex(cause.request_id)}`;
    if (this.requests.has(name)) this.fail("ILLEGAL_COMMAND", "the request id was used before");
    this.requests.add(name);
    if (cause.kind !== TIMER) return;
    if (cause.timer === undefined || cause.armed_seq === undefined || cause.armed_seq >= BigInt(this.seq)) {
      this.fail("ILLEGAL_COMMAND", "the record does not say which timer fired");
    }
    const seat = cause.timer === TURN ? cause.seat : 0xffff;
    if (cause.timer > 255 || !equal(cause.request_id, timerId(this.match, cause.armed_seq, cause.timer, seat))) {
      this.fail("ILLEGAL_COMMAND", "the request id is not that of the timer");
    }
    this.counts.timers += 1;
  }

  checkDecision({ cause, command }) {
    if (command.length && cause.kind !== TABLE && cause.decision !== BigInt(this.decision)) {
      this.fail("ILLEGAL_COMMAND", `the decision ${cause.decision} is not open`);
    }
  }

  // What a cause may not say besides.
  checkCause({ cause, command, lifecycle }) {
    const wrong = (words) => this.fail("RULES_DIVERGENCE", words);
    if (command.length && lifecycle.length) wrong("a command is no step in the life of the match");
    if (cause.kind === TABLE && cause.seat !== 0) wrong("the table names a seat");
    if (cause.kind !== TIMER && (cause.timer !== undefined || cause.armed_seq !== undefined)) {
      wrong("an act that no timer caused names one");
    }
    if ((!command.length || cause.kind === TABLE) && cause.decision !== 0n) wrong("the act answers no decision");
    const seats = this.seats.closed?.length ?? 0;
    if (cause.kind === TIMER && (cause.timer === TURN ? cause.seat >= seats : cause.seat !== 0)) {
      wrong("the timer is not of that seat");
    }
    const step = lifecycle[0]?.[lifecycle[0].which];
    if (cause.kind === SEAT && step !== undefined && step.seat !== cause.seat) wrong("a seat acts for another");
  }

  // Which act a record is: { kind, payload, key } for an act of a seat.
  classify(body, { command }) {
    const { cause, lifecycle } = body;
    const first = lifecycle[0]?.which;
    const allowed = {
      [SEAT]: ["joined", "left", "ready", "committed", "contributed", "resigned"],
      [TABLE]: this.seq === 0 ? ["opened"] : ["closed", "aborted", "paused", "resumed"],
      [TIMER]: ["aborted", "resumed", "forfeited", "withheld"],
    }[cause.kind] ?? [];
    if (command === undefined ? !allowed.includes(first) : !allowed.length || this.seq === 0) {
      this.fail("TAMPERED", "the record is no act of its cause");
    }
    if (cause.kind !== SEAT) return {};
    const step = first === undefined ? undefined : lifecycle[0][first];
    const kind = KINDS[first ?? "command"];
    const key = first === "joined" ? step.public_key : this.seats.key(cause.seat);
    if (key === undefined) this.fail("ILLEGAL_COMMAND", `nobody sits at seat ${cause.seat}`);
    const payload = { 1: command?.bytes, 2: key, 3: step?.commitment, 4: step?.contribution }[kind] ?? NOTHING;
    return { kind, key, payload };
  }

  async checkSignature(body, { kind, key, payload }, { command }) {
    const { cause } = body;
    const wrong = (words) => this.fail("BAD_SIGNATURE", words);
    if (kind === undefined || key.length === 0) {
      const signature = command?.open ? command.signature : cause.signature;
      if (cause.observed_head.length || cause.key_id.length || signature?.length) wrong("an act without key is signed");
      if (kind !== undefined) this.counts.unsigned += 1;
      return;
    }
    const fault = await this.signatures.fault(key);
    if (fault !== undefined) wrong(fault);
    if (!equal(cause.key_id, keyId(key))) wrong("the key id is not that of the key of the seat");
    if (!this.observed(cause.observed_head, kind)) wrong("the observed head is none that the seat could have seen");
    if (command !== undefined && !command.open) {
      this.counts.sealedSignatures += 1;
      return;
    }
    const signature = command === undefined ? cause.signature : command.signature;
    const message = actMessage(this.match, cause, kind, payload);
    try {
      if (!(await this.signatures.verify(key, message, signature))) wrong("the signature of the act is wrong");
      this.counts.signatures += 1;
    } catch (error) {
      if (!(error instanceof NoEd25519)) throw error;
      this.noEd25519 = true;
    }
  }

  observed(head, kind) {
    const number = this.numbers.get(hex(head));
    if (number === undefined || kind === KINDS.joined) return number === 0;
    return number >= this.openedAt[this.decision] || (number === 0 && kind !== KINDS.command);
  }

  // One step in the life of the match.
  step(step, index, { cause, lifecycle }) {
    const value = step[step.which];
    const { seat } = cause;
    if (index > 0) this.checkFollows(step.which, lifecycle[index - 1].which);
    switch (step.which) {
      case "joined":
        return this.seats.joined(seat, value);
      case "left":
        return this.seats.left(seat);
      case "ready":
        return this.seats.ready(seat);
      case "closed":
        return this.seats.close(value.seats, cause, this.seq === 0);
      case "committed":
        return this.seats.commit(seat, value);
      case "contributed":
        return this.seats.contribute(seat, value);
      case "withheld":
        return this.seats.withhold(value, cause);
      case "sealed":
        return this.start(value.entropy);
      case "paused":
      case "resumed":
        if (!this.deals || this.paused === (step.which === "paused")) {
          this.fail("ILLEGAL_COMMAND", `the match cannot be ${step.which}`);
        }
        this.paused = step.which === "paused";
        return undefined;
      case "resigned":
      case "forfeited":
        if (!this.deals) this.fail("ILLEGAL_COMMAND", "the match has not started");
        if (value.seat !== seat) this.fail("RULES_DIVERGENCE", "another seat gives up");
        this.over = true;
        return undefined;
      case "aborted":
        if ((value.missed !== undefined) !== (cause.kind === TIMER)) {
          this.fail("RULES_DIVERGENCE", "an abort names a deadline just if a timer caused it");
        }
        if (value.missed !== undefined) this.seats.checkMissed(value.missed, cause);
        this.over = true;
    }
    return undefined;
  }

  checkFollows(name, before) {
    const closes = ["joined", "left", "ready", "opened"];
    if (!(name === "sealed" || (name === "closed" && closes.includes(before)))) {
      this.fail("RULES_DIVERGENCE", `${name} does not follow from an act`);
    }
  }

  start(entropy) {
    if (!equal(entropy, this.seats.entropy())) this.fail("SEED_MISMATCH", "the entropy is not that of the seats");
    this.deals = this.newDeals(entropy);
    this.decisions = new Decisions(this.game, this.seats.closed.length, this.deals.options);
  }

  newDeals(entropy) {
    const options = this.opened.options?.[this.game];
    if (options === undefined) this.fail("TAMPERED", "record 0 states no options of its game");
    return new Deals({
      game: this.game,
      seats: this.seats.closed.length,
      options,
      match: this.match,
      entropy,
      chain: this.chain,
      fail: (verdict, words) => this.fail(verdict, words),
    });
  }

  // The match starts with the act after which nothing is missing, and with no other.
  checkSteps(body) {
    const sealed = body.lifecycle.some((step) => step.which === "sealed");
    const complete = this.seats.complete && !this.over;
    if (complete && !this.deals) this.fail("RULES_DIVERGENCE", "nothing is missing, and the entropy is not sealed");
    if (sealed && !complete) this.fail("RULES_DIVERGENCE", "the entropy is sealed before all have contributed");
    if (body.command.length && (!this.deals || this.paused)) this.fail("ILLEGAL_COMMAND", "the match does not run");
  }

  events(body, { events, command }) {
    const leaves = ["resigned", "forfeited", "aborted"].includes(body.lifecycle[0]?.which);
    const starts = this.deals !== undefined && !this.deals.started;
    if (events.length && (!this.deals || !(starts || leaves || command !== undefined))) {
      this.fail("RULES_DIVERGENCE", "there are events that no act caused");
    }
    if (starts && events[0]?.name !== "match_started") this.fail("RULES_DIVERGENCE", "the match does not start");
    this.epochs = [];
    const last = new Map(events.map((event, index) => [event.name, index]));
    let ended = false;
    for (const [index, event] of events.entries()) {
      if (ended) this.fail("RULES_DIVERGENCE", "something happens after the end of the match");
      ended = event.name === "match_ended";
      this.epochs.push(this.epoch());
      this.deals.event(event);
      this.decisions.event(event, (name) => last.get(name) > index);
    }
    this.over ||= ended;
  }

  checkSeals(record, body, secrets, before) {
    for (const [j, { owner, seat, class: kind }] of secrets.entries()) {
      const own = owner === "command";
      const bit = own ? body.cause.seat : seat;
      const audience = kind === "EPOCH" || bit > 63 ? 0n : 1n << BigInt(bit);
      const epoch = own ? before : this.epochs[owner];
      if (record.seals[j].audience !== audience || record.seals[j].epoch !== epoch) {
        this.fail("TAMPERED", `seal ${j} has a wrong audience or epoch`);
      }
    }
    if (record.openings.length < record.seals.length) this.sealedRecords.push(this.seq);
  }

  // The epoch after everything so far; 0 before the first.
  epoch() {
    if (!this.deals?.started) return 0;
    return this.game === "piece" ? 1 : this.deals.epoch;
  }

  checkReveals(body, before) {
    const epoch = this.epoch();
    const due = [];
    for (let r = Math.max(before, 1); r < epoch; r++) due.push(r);
    if (this.over && epoch) due.push(epoch);
    if (!same(due, body.reveals.map((reveal) => reveal.epoch))) {
      this.fail("RULES_DIVERGENCE", `the record should reveal the epochs [${due}]`);
    }
  }
}
