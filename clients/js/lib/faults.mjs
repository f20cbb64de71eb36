// What may be wrong with a ledger: verdicts are those of the specification (section 10).

/** The first fault: its verdict, the layer that found it, the number of the record or of the line, and words. */
export class Fault extends Error {
  constructor(verdict, layer, seq, words, line) {
    super(words);
    this.verdict = verdict;
    this.layer = layer;
    this.seq = seq;
    this.line = line;
  }
}

/** What was given is no ledger, or one beyond the limits of a reader: there is no verdict about it. */
export class Unusable extends Error {}
