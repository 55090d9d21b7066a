// A real Chromium without a window. For tests with hosts of their own it finds all at one address and trusts one key.
import { createHash, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";

/** Path of Debian's Chromium. */
const PROGRAM = "/usr/bin/chromium";

/** Longest wait for its start, in milliseconds, on a busy machine. */
const START_TIMEOUT_MS = 60_000;

/** Hosts of a test. */
export interface BrowserHosts {
  /** Host and port of all of them. */
  readonly address: string;
  /** The certificate of their server. */
  readonly certificatePath?: string;
}

/** Starts it. */
export function startBrowser({ address, certificatePath }: Partial<BrowserHosts> = {}): Promise<Browser> {
  return chromium.launch({
    executablePath: PROGRAM,
    timeout: START_TIMEOUT_MS,
    args: [
      // Root has no sandbox, and containers have a small /dev/shm.
      ...["--no-sandbox", "--disable-dev-shm-usage"],
      ...(address === undefined ? [] : [`--host-resolver-rules=MAP * ${address}`]),
      ...(certificatePath === undefined ? [] : [`--ignore-certificate-errors-spki-list=${keyHash(certificatePath)}`]),
    ],
  });
}

function keyHash(certificatePath: string): string {
  const { publicKey } = new X509Certificate(readFileSync(certificatePath));
  return createHash("sha256")
    .update(publicKey.export({ type: "spki", format: "der" }))
    .digest("base64");
}
