// Builds src/plait/report/bundle.js and bundle.css. `make report-bundle` runs it.
//
// The first line of the script holds a digest of everything that the bundle is made of, so that a test notices a
// stale bundle on machines without Node.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const target = process.argv[2] ?? join(here, "..", "src", "plait", "report");

function sources() {
  const found = readdirSync(join(here, "src"), { recursive: true }).map((name) => join("src", name));
  return [...found.filter((name) => /\.(js|css)$/.test(name)), "build.mjs", "package-lock.json"]
    .map((name) => name.replaceAll("\\", "/"))
    .sort();
}

function digest() {
  const hash = createHash("sha256");
  for (const name of sources()) hash.update(`${name}\n`).update(readFileSync(join(here, name)));
  return hash.digest("hex");
}

function licences(inputs) {
  const packages = new Set();
  for (const input of Object.keys(inputs)) {
    const match = input.match(/node_modules\/([^/]+)\//);
    if (match) packages.add(match[1]);
  }
  return [...packages].sort().map((name) => {
    const folder = join(here, "node_modules", name);
    const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    return `${name} ${version}\n\n${readFileSync(join(folder, "LICENSE"), "utf8").trim()}\n`;
  });
}

const common = { bundle: true, minify: true, write: false, legalComments: "none", absWorkingDir: here };
const script = await build({
  ...common,
  entryPoints: ["src/main.js"],
  format: "iife",
  target: ["chrome111", "firefox113", "safari16.4"],
  charset: "ascii",
  metafile: true,
});
const style = await build({ ...common, entryPoints: ["src/style.css"], target: ["chrome111", "firefox113", "safari16.4"] });
writeFileSync(join(target, "bundle.js"), `/* sources ${digest()} */\n${script.outputFiles[0].text}`);
writeFileSync(join(target, "bundle.css"), style.outputFiles[0].text);
const rule = `\n${"-".repeat(80)}\n\n`;
writeFileSync(
  join(target, "LICENSES.txt"),
  `bundle.js contains these packages.\n${rule}${licences(script.metafile.inputs).join(rule)}`,
);
