// What a record holds: its body, its secrets and what of them is open (docs/spec/ledger.md, sections 2 to 4).

import { same } from "./bytes.mjs";
import { Fault } from "./faults.mjs";
import { SECRETS } from "./tables.mjs";
import { Malformed, decode, emptyMessage, fieldNames, typeOf } from "./wire.mjs";

export const SEAT = 1;
export const TIMER = 2;
export const TABLE = 3;
const LATEST = 253402300799999999n;

/** Read the body of a record. Throws Fault. */
export function readBody(record, seq) {
  const wrong = (words) => new Fault("TAMPERED", "parse", seq, words);
  const body = attempt("sixledger.v1.Body", record.body, wrong);
  const lengths = (value, name, length) => {
    if (value.length !== length) throw wrong(`${name} has ${value.length} bytes`);
  };
  if (body.format !== 1) throw wrong(`the format is ${body.format}`);
  lengths(body.match_id, "the match id", 16);
  if (body.time_us > LATEST) throw wrong("the time is after the year 9999");
  if (body.cause === undefined) throw wrong("the record has no cause");
  lengths(body.cause.request_id, "the request id", 16);
  return body;
}

function attempt(type, bytes, wrong) {
  try {
    return decode(type, bytes);
  } catch (error) {
    if (error instanceof Malformed) throw wrong(error.message);
    throw error;
  }
}

/** The message of a game inside an envelope: { game, type, name, message }. */
function inside(kind, envelope, wrong) {
  const game = envelope.which;
  if (game === undefined || game === "other") throw wrong("a message of another game");
  const outer = envelope[game];
  const name = outer.which;
  if (name === undefined) throw wrong(`a ${kind} is empty`);
  return { game, name, type: typeOf(`sixledger.games.${game}.v1.${kind}`, name), message: outer[name] };
}

/** The command of a record, its events and its secrets, with everything merged that is open. Throws Fault. */
export function readActs(record, body, seq, game) {
  const wrong = (words) => new Fault("TAMPERED", "acts", seq, words);
  const secrets = [];
  const open = new Map(record.openings.map((opening) => [opening.seal, opening.value]));
  const secretOf = (part, owner) => {
    const secret = SECRETS[part.type];
    if (secret === undefined) return undefined;
    if (hasAny(part.message, part.type, secret.fields)) throw wrong(`${part.name} shows its secret part`);
    secrets.push({ ...secret, owner, seat: part.message.seat });
    return { ...secret, value: open.get(secrets.length - 1) };
  };
  let command;
  if (body.command.length) {
    const part = inside("Command", attempt("sixledger.v1.Command", body.command, wrong), wrong);
    const secret = secretOf(part, "command");
    command = { ...part, sealed: secret !== undefined, open: secret === undefined || secret.value !== undefined };
    if (secret !== undefined && body.cause.signature.length) throw wrong("the signature of a sealed command lies open");
    if (secret === undefined) Object.assign(command, { bytes: body.command, signature: body.cause.signature });
    else if (secret.value !== undefined) openCommand(command, secret, wrong);
  }
  const events = body.events.map((event, index) => {
    const part = inside("Event", event, wrong);
    const secret = secretOf(part, index);
    if (secret?.value === undefined) return { ...part, open: secret === undefined };
    const value = inside("Event", attempt("sixledger.v1.Event", secret.value, wrong), wrong);
    if (value.type !== part.type) throw wrong(`the sealed part of ${part.name} is of another event`);
    const others = fieldNames(part.type).filter((name) => !secret.fields.includes(name));
    if (hasAny(value.message, part.type, others)) throw wrong(`the sealed part of ${part.name} holds public fields`);
    const message = { ...part.message };
    for (const name of secret.fields) if (value.message[name] !== undefined) message[name] = value.message[name];
    return { ...part, message, open: true };
  });
  for (const part of [...events, ...(command ? [command] : [])]) {
    if (part.game !== game) throw wrong(`${part.name} is of the game ${part.game}`);
  }
  if (secrets.length !== record.seals.length) {
    throw wrong(`the record has ${record.seals.length} seals for ${secrets.length} secrets`);
  }
  return { command, events, secrets };
}

function openCommand(command, secret, wrong) {
  const sealed = attempt("sixledger.v1.SealedCommand", secret.value, wrong);
  const whole = inside("Command", attempt("sixledger.v1.Command", sealed.command, wrong), wrong);
  const shown = { ...whole.message };
  const blank = emptyMessage(whole.type);
  for (const name of secret.fields) {
    if (blank[name] === undefined) delete shown[name];
    else shown[name] = blank[name];
  }
  if (whole.type !== command.type || !same(shown, command.message)) {
    throw wrong("the sealed command is another than the public part says");
  }
  Object.assign(command, { message: whole.message, bytes: sealed.command, signature: sealed.signature });
}

function hasAny(message, type, fields) {
  const blank = emptyMessage(type);
  return fields.some((name) => !same(message[name], blank[name]));
}
