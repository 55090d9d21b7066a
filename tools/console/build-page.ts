// Builds the page of the console into console/dist/page: one script, and the files that need no build.
import { cpSync, rmSync } from "node:fs";

import { build } from "esbuild";

/** Where the control plane finds it. */
const OUT = "console/dist/page";

rmSync(OUT, { recursive: true, force: true });
cpSync("console/page", OUT, { recursive: true });
await build({
  entryPoints: ["console/src/main.ts"],
  outfile: `${OUT}/console.js`,
  bundle: true,
  minify: true,
  target: "es2024",
  format: "esm",
  platform: "browser",
  conditions: ["source"],
  // Licenses of packages, as they ask for.
  legalComments: "eof",
  charset: "utf8",
  logLevel: "warning",
});
