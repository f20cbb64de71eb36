// Draws and deals: each pack is shuffled again, and what was dealt from it is compared (docs/spec/ledger.md, section 5).

import { same } from "./bytes.mjs";
import { Stream, epochKey } from "./chance.mjs";

const [BASE, TACTICS, LOGIC, TOURNAMENT, PROFESSIONAL, OPEN, NIFTY, HAND, DOUBLE] = [1, 2, 3, 4, 5, 6, 7, 8, 9];
const RANDOM = 1;
const [FULL_DECK, DOUBLE_PACK] = [1, 1];
const LEFT = 1;

const upTo = (last) => Array.from({ length: last }, (_, i) => i + 1);
const ascending = (cards) => [...cards].sort((a, b) => a - b);

/** The cards of the pack of 6 nimmt! in their order before the shuffle. */
export function nimmtPack(options, seats) {
  const small = upTo(10 * seats + 4);
  switch (options.variant) {
    case TACTICS:
    case LOGIC:
    case TOURNAMENT:
      return small;
    case BASE:
    case PROFESSIONAL:
      return options.deck === FULL_DECK ? upTo(104) : small;
    case OPEN:
      return upTo(104).slice(1);
    case DOUBLE: {
      const twins = options.double_pack === DOUBLE_PACK ? () => true : (card) => card % 11 === 0;
      return upTo(104).flatMap((card) => (twins(card) ? [card, card] : [card]));
    }
    default:
      return upTo(104);
  }
}

/** The cards of the deck of 6 Forces in their order before the shuffle. */
export const forcesDeck = (seats) =>
  [1, 2, 3, 4].flatMap((color) => upTo(seats === 3 ? 9 : 12).map((number) => ({ color, number })));

/** The cards of a deck of 6piece in their order before the shuffle. */
export const pieceDeck = (options, seat) => [...upTo(6), ...options.beasts.slice(seat, seat + 1)];

/** Follows one match and compares what it deals. Every method gets an event; what is wrong is thrown with `fail`. */
export class Deals {
  /** `chain`: the revealed seeds by epoch; `fail(verdict, words)` throws. */
  constructor({ game, seats, options, match, entropy, chain, fail }) {
    Object.assign(this, { game, seats, options, match, entropy, chain, fail });
    this.keys = new Map();
    this.epoch = 0;
    //: Draws that were made again, and those whose epoch is not revealed or whose part is not open.
    this.drawn = 0;
    this.hidden = 0;
    this.hands = 0;
    this.started = false;
    this.turn = 0;
    this.order = undefined;
    this.stacks = [[], []];
    this.hand_lists = upTo(seats).map(() => []);
    this.handler = { forces: FORCES, nimmt: NIMMT, piece: PIECE }[game];
    if (game === "nimmt") {
      this.pack = nimmtPack(options, seats);
      this.hand = options.variant === NIFTY || options.variant === HAND ? 14 : 10;
    }
  }

  /** Take an event; `open`: its secret part is known, or it has none. */
  event({ name, message, open }) {
    if (name === "match_started") {
      if (this.started) this.fail("RULES_DIVERGENCE", "the match starts twice");
      this.started = true;
      if (!same(message.options, this.options)) this.fail("RULES_DIVERGENCE", "the match starts with other options");
      if (message.players !== undefined && message.players !== this.seats) {
        this.fail("RULES_DIVERGENCE", `the match starts with ${message.players} seats`);
      }
    } else if (!this.started) this.fail("RULES_DIVERGENCE", "something is dealt before the match has started");
    this.handler[name]?.(this, message, open);
  }

  stream(epoch, label) {
    const element = this.chain.get(epoch);
    if (element === undefined) return undefined;
    if (!this.keys.has(epoch)) this.keys.set(epoch, epochKey(element, this.match, epoch, this.entropy));
    return new Stream(this.keys.get(epoch), label);
  }

  // Compare a draw, if it can be made again; the order of a pack holds its cards in any case.
  shuffled(what, epoch, label, pack, order, open) {
    const stream = this.stream(epoch, label);
    if (open && stream !== undefined) {
      this.drawn += 1;
      if (!same(stream.shuffle(pack), order)) this.fail("SEED_MISMATCH", `${what} is not the shuffle of ${label}`);
    } else this.hidden += 1;
  }

  number(what, epoch, label, n, found) {
    const stream = this.stream(epoch, label);
    if (stream === undefined) this.hidden += 1;
    else {
      this.drawn += 1;
      const drawn = stream.below(n);
      if (drawn !== found) this.fail("SEED_MISMATCH", `${what} is ${found}, and ${drawn} was drawn`);
    }
  }

  dealt(what, expected, found) {
    this.hands += 1;
    if (!same(expected, found)) this.fail("RULES_DIVERGENCE", `${what} is not what the pack deals`);
  }

  wrong(what, expected, found) {
    if (!same(expected, found)) this.fail("RULES_DIVERGENCE", `${what} is wrong`);
  }
}

const FORCES = {
  starter_drawn(deals, event) {
    deals.number("the starter", 1, "starter", deals.seats, event.seat);
  },
  deal_started(deals, event) {
    deals.wrong("the number of the deal", deals.epoch + 1, event.deal);
    deals.wrong("the size of the hands", 12, event.hand_size);
    deals.epoch += 1;
    deals.order = undefined;
  },
  deck_shuffled(deals, event, open) {
    deals.shuffled("the deck", deals.epoch, "deck", forcesDeck(deals.seats), event.order, open);
    if (open) deals.order = event.order;
  },
  hand_dealt(deals, event, open) {
    if (!open || deals.order === undefined) return;
    deals.dealt(`the hand of seat ${event.seat}`, deals.order.slice(12 * event.seat, 12 * event.seat + 12), event.cards);
  },
};

const NIMMT = {
  starter_drawn(deals, event) {
    deals.number("the starter", 1, "starter", deals.seats, event.seat);
  },
  round_started(deals, event) {
    deals.wrong("the number of the round", deals.epoch + 1, event.round);
    deals.wrong("the size of the pack", deals.pack.length, event.pack_size);
    deals.wrong("the size of the hands", deals.hand, event.hand_size);
    deals.epoch += 1;
    deals.order = undefined;
  },
  pack_shuffled(deals, event, open) {
    deals.shuffled("the pack", deals.epoch, "pack", deals.pack, event.order, open);
    if (open) deals.order = event.order;
  },
  hand_dealt(deals, event, open) {
    deals.wrong("the size of a hand", deals.hand, event.count);
    if (!open || deals.order === undefined) return;
    const start = deals.hand * event.seat;
    deals.dealt(`the hand of seat ${event.seat}`, ascending(deals.order.slice(start, start + deals.hand)), event.cards);
  },
  rows_started(deals, event) {
    const { variant } = deals.options;
    if (variant === LOGIC || variant === TOURNAMENT) {
      deals.dealt("the start of the rows", deals.pool.map((card) => [card]), event.rows.map((row) => row.cards));
    } else if (deals.order !== undefined) {
      const left = deals.order.slice(deals.hand * deals.seats);
      if (variant === DOUBLE) twinRows(deals, left, event);
      else deals.dealt("the start of the rows", left.slice(0, 4).map((card) => [card]), event.rows.map((row) => row.cards));
    }
  },
  draft_started(deals, event) {
    deals.dealt("the pool of the draft", deals.pack, event.cards);
    deals.pool = deals.pack;
    deals.hand_lists = deals.hand_lists.map(() => []);
  },
  card_drafted(deals, event) {
    if (!deals.pool?.includes(event.card)) deals.fail("RULES_DIVERGENCE", "a card is drafted that is not in the pool");
    deals.pool = deals.pool.filter((card) => card !== event.card);
    deals.hand_lists[event.seat]?.push(event.card);
  },
  hand_set(deals, event) {
    const index = (((event.seat - deals.epoch + 1) % deals.seats) + deals.seats) % deals.seats;
    deals.dealt(`the hand of seat ${event.seat}`, ascending(deals.hand_lists[index]), event.cards);
  },
};

// A card that equals one that lies goes on top of it and starts no row.
function twinRows(deals, left, event) {
  const rows = new Map();
  const used = [];
  for (const card of left) {
    if (rows.size === 4) break;
    used.push(card);
    rows.set(card, [...(rows.get(card) ?? []), card]);
  }
  deals.dealt("the cards drawn for the rows", used, event.drawn);
  const found = event.stacked_rows.map((row) => row.positions.map((stack) => stack.cards));
  deals.dealt("the start of the rows", [...rows.values()].map((cards) => [cards]), found);
}

const PIECE = {
  match_started(deals, event) {
    if (deals.options.first_player === RANDOM) deals.number("the first player", 1, "first-player", 2, event.first_player);
    else deals.wrong("the first player", deals.options.first_player - 2, event.first_player);
  },
  deck_shuffled(deals, event, open) {
    const pack = pieceDeck(deals.options, event.seat);
    deals.wrong("the size of a deck", pack.length, event.size);
    deals.shuffled(`the deck of seat ${event.seat}`, 1, `deck/${event.seat}`, pack, event.order, open);
  },
  turn_started(deals, event) {
    deals.turn = event.turn;
  },
  card_placed(deals, event) {
    const stack = deals.stacks[event.where - 2];
    stack?.push(event.card);
    if (stack?.length > 14) deals.fail("RULES_DIVERGENCE", "a stack has more cards than there are");
  },
  card_discarded(deals, event) {
    const stack = deals.stacks[event.stack - 1] ?? [];
    const stream = deals.stream(1, `discard/${deals.turn}/${event.stack === LEFT ? "left" : "right"}`);
    let at = stack.indexOf(event.card);
    if (stream === undefined) deals.hidden += 1;
    else {
      deals.drawn += 1;
      at = stack.length ? stream.below(stack.length) : -1;
    }
    if (at < 0 || stack[at] !== event.card) deals.fail("SEED_MISMATCH", "another card of the stack is to be discarded");
    stack.splice(at, 1);
  },
  six_piece(deals, event, open) {
    const cards = [...new Set(event.stacks)].sort().flatMap((stack) => deals.stacks[stack - 1] ?? []);
    for (const stack of event.stacks) deals.stacks[stack - 1] = [];
    deals.dealt("the taken cards", ascending(cards), event.cards);
    deals.shuffled("the taken cards", 1, `take/${deals.turn}`, cards, event.new_order, open);
  },
};
