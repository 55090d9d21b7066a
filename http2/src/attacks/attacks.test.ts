// Each known attack on one connection in memory, with the limits of the server; ../connection/attacks.test.ts looks
// at every limit.
import { expect, it } from "vitest";

import { ByteClient } from "../connection/byte-client.suite.ts";
import { type ReceivedFrame, summarize } from "../connection/received-frames.suite.ts";
import { ATTACKS, type Attack } from "./attacks.suite.ts";

/** Bytes of one read, and of all that an attacker sends at most. */
const READ_BYTES = 65_536;
const SENT_MAX_BYTES = 3 * 1024 * 1024;

/** Time that passes afterwards, in milliseconds: more than a peer may stand still. */
const AFTERWARDS_MS = 25_000;

it.each(ATTACKS)("the server meets $name with: $expected", (attack) => {
  const client = new ByteClient();
  client.sink.isFast = attack.reads;
  const frames = [...send(client, attack), ...client.wait(AFTERWARDS_MS)];
  expect(client.budget.usedBytes).toBeLessThan(client.limits.processMaxBytes);
  const last = summarize(frames.slice(-1)).map((line) =>
    line.replace(/^([A-Z_]+) \d+/, "$1").replace(/(grpc-status \d+) .*/, "$1"),
  );
  const state = client.sink.state === "destroyed" && !last[0]?.startsWith("GOAWAY") ? ["closed"] : [];
  expect([...last, ...state].join(", ")).toBe(attack.expected);
  client.connection.closed();
  expect(client.budget.usedBytes).toBe(0);
});

/** Sends the attack while the server reads, and returns what it answers. */
function send(client: ByteClient, attack: Attack): readonly ReceivedFrame[] {
  const frames = [...client.send(attack.opening)];
  for (let number = 0, sent = 0; sent < SENT_MAX_BYTES; number++) {
    const bytes = attack.next(number);
    if (bytes === undefined) break;
    for (let at = 0; at < bytes.length; at += READ_BYTES) {
      if (client.sink.isPaused || client.sink.state !== "open") return frames;
      frames.push(...client.send(bytes.subarray(at, at + READ_BYTES)));
    }
    sent += bytes.length;
  }
  return frames;
}
