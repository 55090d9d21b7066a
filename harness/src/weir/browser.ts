// A real Chromium without a window, which finds every host of the tests at one address and trusts one key.
import { createHash, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";

/** Where Debian puts it. */
const PROGRAM = "/usr/bin/chromium";

/** Longest wait for its start, in milliseconds, on a busy machine. */
const START_TIMEOUT_MS = 60_000;

/** Starts it. `address` is host and port of all hosts, `certificatePath` the certificate of their server. */
export function startBrowser(address: string, certificatePath: string): Promise<Browser> {
  const { publicKey } = new X509Certificate(readFileSync(certificatePath));
  const key = createHash("sha256").update(publicKey.export({ type: "spki", format: "der" }));
  return chromium.launch({
    executablePath: PROGRAM,
    timeout: START_TIMEOUT_MS,
    args: [
      // Root has no sandbox, and containers have a small /dev/shm.
      ...["--no-sandbox", "--disable-dev-shm-usage"],
      `--host-resolver-rules=MAP * ${address}`,
      `--ignore-certificate-errors-spki-list=${key.digest("base64")}`,
    ],
  });
}
