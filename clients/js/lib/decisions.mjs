// Which events open a decision (docs/spec/ledger.md, section 6): the number of the decision grows by one with each.

const [LOGIC, TOURNAMENT, PROFESSIONAL, OPEN, NIFTY, HAND] = [3, 4, 5, 6, 7, 8];
const ROOT = 1;
const SUBTRACT = 3;

/** Counts the decisions of one match. */
export class Decisions {
  constructor(game, seats, options) {
    this.number = 0;
    this.seats = seats;
    this.variant = options.variant;
    this.opens = { forces: this.forces, nimmt: this.nimmt, piece: this.piece }[game];
    this.placed = 0;
    this.laid = 0;
    this.root = false;
    this.ability = 0;
  }

  /** Count an event; `later(name)`: one of this name stands behind it in its record. */
  event({ name, message }, later) {
    if (this.opens(name, message, later)) this.number += 1;
  }

  forces(name, message, later) {
    switch (name) {
      case "hand_dealt":
        return message.seat === this.seats - 1;
      case "predicted":
      case "trump_chosen":
        return !later("planning_ended");
      case "card_played":
        return !later("trick_won");
      default:
        return name === "trick_started";
    }
  }

  nimmt(name, message, later) {
    const { variant } = this;
    switch (name) {
      case "rows_started":
        this.laid = 0;
        return true;
      case "row_choice_needed":
        return true;
      case "turn_ended":
        this.laid = 0;
        return !later("round_scored") && !later("cycle_ended");
      case "draft_started":
        return variant === LOGIC || variant === TOURNAMENT;
      case "card_drafted":
        return !later("rows_started") && !later("hand_set");
      case "end_choice_needed":
        return variant === PROFESSIONAL;
      case "card_laid":
        this.laid += 1;
        return variant === OPEN && this.laid < this.seats;
      case "revealed":
        this.placed = 0;
        return variant === NIFTY;
      case "card_placed":
        this.placed += 1;
        return variant === NIFTY && this.placed % 2 === 0 && this.placed < 2 * this.seats;
      case "row_taken":
        return variant === HAND;
      case "cycle_ended":
        return variant === HAND && !later("round_scored");
      default:
        return false;
    }
  }

  piece(name, message) {
    switch (name) {
      case "turn_started":
        this.ability = 0;
        return false;
      case "card_flipped":
        return true;
      case "ability_used":
        this.ability = message.ability;
        return this.root && (message.ability === 1 || message.ability === 5);
      case "declined":
      case "bottom_to_top":
      case "cards_swapped":
        return this.root;
      case "card_revealed":
        return this.root && message.card !== 4;
      case "die_set":
        return this.root && message.cause === SUBTRACT;
      case "card_placed":
        if (message.where === ROOT) this.root = true;
        return this.ability === 5;
      default:
        return false;
    }
  }
}
