// Builds what browsers load: the page of the console into console/dist/page; the client and the page of the account
// service into account/dist/static. Each is one script, next to the files that need no build.
import { cpSync, rmSync } from "node:fs";

import { build } from "esbuild";

const CONSOLE = "console/dist/page";
const ACCOUNT = "account/dist/static";

for (const folder of [CONSOLE, ACCOUNT]) rmSync(folder, { recursive: true, force: true });
cpSync("console/page", CONSOLE, { recursive: true });
cpSync("account/page", ACCOUNT, { recursive: true });
await bundle("console/src/main.ts", `${CONSOLE}/console.js`);
await bundle("account/src/client/account-client.ts", `${ACCOUNT}/client.js`);
await bundle("account/src/page/main.ts", `${ACCOUNT}/page.js`);

async function bundle(entry: string, outfile: string): Promise<void> {
  await build({
    entryPoints: [entry],
    outfile,
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
}
