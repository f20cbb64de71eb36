#!/usr/bin/env node
// A second opinion on a ledger, in plain JavaScript: see README.md. Import `verify` from here, or run
//
//     node verify.mjs FILE… [--key VKEY]… [--json] [--list FILE]
//
// Exit status 0: every file is VALID; 1: some other verdict; 2: wrong arguments, or a file that is no ledger.

import { Fault, Unusable } from "./lib/faults.mjs";
import { LIMITS } from "./lib/file.mjs";
import { readVerifierKey } from "./lib/heads.mjs";
import { verify } from "./lib/verify.mjs";

export { Fault, LIMITS, Unusable, readVerifierKey, verify };

const USAGE = `Usage: node verify.mjs FILE… [--key VKEY]… [--json] [--list FILE]

Verify ledgers: chain, heads, seals, signatures, seeds and deals. The rules of the games are not run.

  --key VKEY   trust this verifier key (origin+hash+base64): it must have signed the last head; may be repeated
  --json       print one JSON object per file
  --list FILE  verify the files that FILE names, one a line; - for the standard input
`;

function readArguments(given) {
  const options = { files: [], keys: [], lists: [], json: false };
  const words = [...given];
  const value = (name) => {
    if (!words.length) throw new SyntaxError(`${name} needs a value`);
    return words.shift();
  };
  while (words.length) {
    const word = words.shift();
    if (word === "--json") options.json = true;
    else if (word === "--key") options.keys.push(readVerifierKey(value(word)));
    else if (word === "--list") options.lists.push(value(word));
    else if (word === "--help" || word === "-h") options.help = true;
    else if (word.startsWith("-") && word !== "-") throw new SyntaxError(`there is no option ${word}`);
    else options.files.push(word);
  }
  if (!options.files.length && !options.lists.length && !options.help) throw new SyntaxError("no file is given");
  return options;
}

async function readLimited(fs, path) {
  const { size } = await fs.stat(path);
  if (size > LIMITS.file) throw new Unusable(`the file has more than ${LIMITS.file} bytes`);
  return new Uint8Array(await fs.readFile(path));
}

function lines({ summary, checked, notChecked, verdict }) {
  const good = verdict === "VALID" || verdict === "INCOMPLETE";
  const list = (title, words) => (words.length ? [`  ${title}`, ...words.map((each) => `    ${each}`)] : []);
  return [`  ${summary}`, ...(good ? [...list("checked", checked), ...list("not checked", notChecked)] : [])];
}

/** Run the command line; returns the exit status. */
export async function main(given, print, complain) {
  const fs = await import("node:fs/promises");
  let options;
  try {
    options = readArguments(given);
    for (const list of options.lists) {
      const text = await fs.readFile(list === "-" ? "/dev/stdin" : list, "utf8");
      for (const path of text.split("\n")) if (path) options.files.push(path);
    }
  } catch (error) {
    complain(`${error.message}\n\n${USAGE}`);
    return 2;
  }
  if (options.help) {
    print(USAGE);
    return 0;
  }
  let status = 0;
  for (const path of options.files) {
    let result;
    try {
      result = await verify(await readLimited(fs, path), { keys: options.keys });
      if (!result.valid) status = Math.max(status, 1);
    } catch (error) {
      if (!(error instanceof Unusable) && error?.syscall === undefined) throw error;
      status = 2;
      result = { verdict: null, valid: false, summary: `not a ledger that can be read: ${error.message}`, unusable: true };
    }
    if (options.json) print(`${JSON.stringify({ file: path, ...result })}\n`);
    else print(`${path}\n${lines({ checked: [], notChecked: [], ...result }).join("\n")}\n`);
  }
  return status;
}

if (globalThis.process?.argv?.[1] !== undefined) {
  const { realpathSync } = await import("node:fs");
  const { pathToFileURL } = await import("node:url");
  if (import.meta.url === pathToFileURL(realpathSync(process.argv[1])).href) {
    process.exitCode = await main(
      process.argv.slice(2),
      (text) => process.stdout.write(text),
      (text) => process.stderr.write(text),
    );
  }
}
