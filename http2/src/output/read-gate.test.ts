// Tests of pausing reads.
import { expect, it } from "vitest";

import { ReadGate, ReadPause } from "./read-gate.ts";

it("ReadGate pauses with the first reason, and resumes when all are gone", () => {
  const events: string[] = [];
  const gate = new ReadGate({ pauseReading: () => events.push("pause"), resumeReading: () => events.push("resume") });
  gate.resume(ReadPause.TURN);
  expect(events).toEqual([]);
  gate.pause(ReadPause.TURN);
  gate.pause(ReadPause.UNSENT);
  gate.pause(ReadPause.UNSENT);
  gate.resume(ReadPause.TURN);
  expect([gate.isPausedFor(ReadPause.TURN), gate.isPausedFor(ReadPause.UNSENT)]).toEqual([false, true]);
  expect(events).toEqual(["pause"]);
  gate.resume(ReadPause.UNSENT);
  gate.resume(ReadPause.UNSENT);
  expect(events).toEqual(["pause", "resume"]);
});
