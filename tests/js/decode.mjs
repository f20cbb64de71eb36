// Decodes messages for a test: one JSON line {"type", "hex"} each; answers {"ok": false} or {"ok": true, "value"}.

import { createInterface } from "node:readline";
import { fromHex, hex } from "../../clients/js/lib/bytes.mjs";
import { Malformed, decode } from "../../clients/js/lib/wire.mjs";

function plain(value) {
  if (typeof value === "bigint") return value.toString();
  if (value instanceof Uint8Array) return hex(value);
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object") return value;
  const entries = Object.entries(value).filter(([name]) => name !== "which");
  return Object.fromEntries(entries.map(([name, each]) => [name, plain(each)]));
}

for await (const line of createInterface({ input: process.stdin })) {
  const { type, hex: bytes } = JSON.parse(line);
  let answer;
  try {
    answer = { ok: true, value: plain(decode(type, fromHex(bytes))) };
  } catch (error) {
    if (!(error instanceof Malformed)) throw error;
    answer = { ok: false };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
