// The public conformance suite of HTTP/2, h2spec, in strict mode: no case fails, none is skipped.
import { startProgram } from "@weir/harness/processes/start-process";
import { findTool } from "@weir/harness/processes/tools";
import { afterEach, describe, expect, it } from "vitest";

import { type TestProtection, TestServer } from "./test-server.suite.ts";

const H2SPEC_VERSION = "2.2.1+incompatible";
const H2SPEC = findTool(`h2spec-${H2SPEC_VERSION}`, "h2spec");

/** The groups of the suite, and the number of their cases. */
const GROUPS: readonly (readonly [string, number])[] = [
  ["generic", 44],
  ["hpack", 7],
  ["http2", 95],
];

let server: TestServer | undefined;

afterEach(() => server?.stop());

describe.each<TestProtection>(["plaintext", "TLS"])("h2spec over %s", (protection) => {
  it.each(GROUPS)("passes the group %s with all its %i cases", async (group, cases) => {
    server = await TestServer.start(protection);
    const tls = protection === "TLS" ? ["-t", "-k"] : [];
    const args = [group, "-h", "127.0.0.1", "-p", String(server.port), "--strict", "--timeout", "5", ...tls];
    const output = await run(args);
    expect(output).toContain(`${cases} tests, ${cases} passed, 0 skipped, 0 failed`);
  });
});

/** Everything that h2spec prints. */
async function run(args: readonly string[]): Promise<string> {
  const h2spec = startProgram(H2SPEC, args);
  await h2spec.exited;
  return h2spec.text();
}
