// Draws: numbers and shuffles from the key of an epoch and a label (docs/spec/ledger.md, section 5).

import { u32, u64, utf8 } from "./bytes.mjs";
import { hmac } from "./sha256.mjs";

/** E_r from ch[r]. */
export const epochKey = (element, match, epoch, entropy) =>
  hmac(element, utf8("sixledger/epoch/1\n"), match, u32(epoch), entropy);

/** The byte stream of one label in one epoch. */
export class Stream {
  constructor(key, label) {
    this.key = key;
    this.start = utf8(`sixledger/rng/1\n${label}\n`);
    this.block = new Uint8Array();
    this.blocks = 0;
    this.at = 0;
  }

  next() {
    if (this.at === this.block.length) {
      this.block = hmac(this.key, this.start, u64(this.blocks++));
      this.at = 0;
    }
    return this.block[this.at++];
  }

  /** A number from 0 to n − 1; n is at most 2^32. */
  below(n) {
    if (n === 1) return 0;
    let width = 1;
    let range = 256;
    while (range < n) {
      width += 1;
      range *= 256;
    }
    const limit = range - (range % n);
    for (;;) {
      let value = 0;
      for (let i = 0; i < width; i++) value = value * 256 + this.next();
      if (value < limit) return value % n;
    }
  }

  /** The items in a new order. */
  shuffle(items) {
    const list = [...items];
    for (let i = list.length - 1; i > 0; i--) {
      const j = this.below(i + 1);
      [list[i], list[j]] = [list[j], list[i]];
    }
    return list;
  }
}
