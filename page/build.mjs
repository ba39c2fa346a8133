// Bundle the page's script and style into the package, with the licences of what is bundled.

import { createHash } from "node:crypto";
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";

const out = "../src/pytest_recall/results/report_page/assets";

// The same digest as tests/results/report_page/test_assets.py takes, so that a forgotten rebuild is a failed test.
const sources = ["build.mjs", "package-lock.json", ...readdirSync("src").map((name) => `src/${name}`)].sort();
const hash = createHash("sha256");
for (const name of sources) hash.update(name + "\0").update(readFileSync(name)).update("\0");
const head = `/*! sources sha256:${hash.digest("hex")} */`;

const options = { bundle: true, minify: true, charset: "utf8", legalComments: "none", target: "es2022", metafile: true };
const script = await build({ ...options, entryPoints: ["src/main.ts"], format: "iife", outfile: `${out}/page.js`, banner: { js: head } });
await build({ ...options, entryPoints: ["src/page.css"], outfile: `${out}/page.css`, banner: { css: head } });

const packages = new Set(Object.keys(script.metafile.inputs).map((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1]).filter(Boolean));
const licences = [...packages].sort().map((name) => {
  const folder = join("node_modules", name);
  const about = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = ["LICENSE", "LICENSE.md", "LICENSE.txt", "license"].map((one) => join(folder, one)).find(existsSync);
  return `${name} ${about.version} (${about.license})\n\n${file ? readFileSync(file, "utf8").trim() : "no licence file"}\n`;
});
writeFileSync(`${out}/LICENSES.txt`, `What page.js is made of, beside our own code.\n\n${licences.join(`\n${"-".repeat(80)}\n\n`)}`);
