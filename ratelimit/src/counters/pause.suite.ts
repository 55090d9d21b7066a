// Test equipment: a server process that is stopped for sure. A signal that stops only begins to: the threads of a process on a busy machine may answer
// calls for a while after it was sent.
import type { ChildProcess } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";

/** Longest wait for the threads to stand still, in milliseconds. */
const STOP_TIMEOUT_MS = 20_000;

/** Wait between two looks, in milliseconds. */
const POLL_MS = 2;

/** Stops a process and resolves when none of its threads runs any more. */
export async function pauseProcess(child: ChildProcess | undefined): Promise<void> {
  if (child?.pid === undefined) throw new Error("There is no process to stop");
  const deadlineMs = performance.now() + STOP_TIMEOUT_MS;
  child.kill("SIGSTOP");
  while (!hasStopped(child.pid)) {
    if (performance.now() > deadlineMs) throw new Error(`The process ${child.pid} still runs ${STOP_TIMEOUT_MS} ms after it was stopped`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/** Whether every thread is in the state T, which stands behind the name in brackets. */
function hasStopped(pid: number): boolean {
  return readdirSync(`/proc/${pid}/task`).every((thread) => /\) T [^)]*$/.test(readFileSync(`/proc/${pid}/task/${thread}/stat`, "latin1")));
}
