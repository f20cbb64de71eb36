#!/usr/bin/env node
// Builds verify.html from page.html and the modules of lib/: a page opened from a file cannot import modules.
//
//     node build.mjs            write verify.html
//     node build.mjs --check    exit status 1 if it is not current

import { readFile, writeFile } from "node:fs/promises";

const MODULES = [
  ...["bytes", "sha256", "tables", "wire", "faults", "formulas", "chance", "ed25519", "heads", "file"],
  ...["records", "layers", "decisions", "deals", "seats", "acts", "verify"],
];
const MARK = "/* the verifier */";
const here = (path) => new URL(path, import.meta.url);

// One module as a function: its imports are looked up, its exports returned.
function wrap(name, text) {
  const exported = [...text.matchAll(/^export (?:async )?(?:const|function|class) (\w+)/gm)].map((match) => match[1]);
  const code = text
    .replace(/^import (\{[^}]*\}) from "\.\/(\w+)\.mjs";$/gm, (_, names, from) => {
      if (MODULES.indexOf(from) >= MODULES.indexOf(name)) throw new Error(`${name} imports ${from}, which comes later`);
      return `const ${names} = modules.${from};`;
    })
    .replace(/^export /gm, "");
  return `modules.${name} = (() => {\n${code.trim()}\nreturn { ${exported.join(", ")} };\n})();\n`;
}

export async function page() {
  const parts = ["const modules = {};\n"];
  for (const name of MODULES) parts.push(wrap(name, await readFile(here(`lib/${name}.mjs`), "utf8")));
  const script = parts.join("\n");
  if (script.includes("</script")) throw new Error("a module holds the end of a script element");
  const [before, after] = (await readFile(here("page.html"), "utf8")).split(MARK);
  return `${before}${script}${after}`;
}

const text = await page();
const path = here("verify.html");
if (process.argv.includes("--check")) {
  const kept = await readFile(path, "utf8").catch(() => "");
  if (kept !== text) {
    process.stderr.write("verify.html is not current: run `node clients/js/build.mjs`\n");
    process.exitCode = 1;
  }
} else await writeFile(path, text);
