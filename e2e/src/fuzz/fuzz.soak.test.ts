// 100,000 broken inputs on every listener: the service also closes every connection of theirs.
import { expect } from "vitest";
import { eventually } from "@weir/harness/processes/eventually";
import { describeBrokenInput } from "./broken-input.suite.ts";

/**
 * Longest time until a dead connection is closed, in milliseconds: the service checks every 25 s,
 * after 50 s of silence.
 */
const GONE_TIMEOUT_MS = 150_000;

/** A run takes 30 s on two idle cores, and up to ten times as long on a busy machine. */
const TIMEOUT_MS = 600_000;

describeBrokenInput(100_000, TIMEOUT_MS, async (service, socketsBefore) => {
  const isEmpty = (): void => expect(service.openSockets()).toBeLessThanOrEqual(socketsBefore);
  await eventually("its connections to be closed", isEmpty, GONE_TIMEOUT_MS);
});
