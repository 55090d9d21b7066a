// Waits until a program of the stack does its work: until its URL answers 200, or until it ended,
// or until time is up.
import { setTimeout as delay } from "node:timers/promises";
import { DevError } from "./errors.ts";
import type { ProcessGroup } from "./process-group.ts";
import { describeExit } from "./process-group.ts";

/**
 * Time between two looks, in milliseconds: much shorter than anything a person notices, and cheap
 * on this machine.
 */
const LOOK_INTERVAL_MS = 40;

/** Longest wait for one answer, in milliseconds. */
const ANSWER_TIMEOUT_MS = 1000;

/**
 * Resolves when `url` answers 200. Throws STACK_PROGRAM_ENDED when the program ends first and
 * STACK_NOT_READY when `timeoutMs` have passed; both carry its last lines.
 */
export async function waitUntilReady(program: ProcessGroup, url: string, timeoutMs: number): Promise<void> {
  const deadlineMs = performance.now() + timeoutMs;
  let lastAnswer = "no answer";
  while (performance.now() < deadlineMs) {
    if (!program.isRunning()) throw endedError(program, describeExit(await program.exited));
    lastAnswer = await look(url);
    if (lastAnswer === "200") return;
    await delay(LOOK_INTERVAL_MS);
  }
  throw new DevError(
    "STACK_NOT_READY",
    `${program.name} was not ready after ${timeoutMs / 1000} s: ${url} gave ${lastAnswer}${lastWords(program)}`,
  );
}

/** The error that tells that a program ended by itself, with its last lines. */
export function endedError(program: ProcessGroup, exit: string): DevError {
  return new DevError("STACK_PROGRAM_ENDED", `${program.name} ended by itself with ${exit}${lastWords(program)}`);
}

async function look(url: string): Promise<string> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS) });
    await response.body?.cancel();
    return String(response.status);
  } catch {
    return "no answer"; // It does not listen yet.
  }
}

function lastWords(program: ProcessGroup): string {
  const lines = program.lastLines();
  return lines.length === 0
    ? "; it wrote nothing"
    : `; its last lines:\n${lines.map((line) => `  ${line}`).join("\n")}`;
}
