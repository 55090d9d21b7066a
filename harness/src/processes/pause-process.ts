// Stops a server process by SIGSTOP and waits until all of its threads have stopped: the signal
// reaches one thread first, and until then the others keep answering (signal(7)).
import { readdirSync, readFileSync } from "node:fs";

/** Longest wait for the threads to stand still, in milliseconds. */
const STOP_TIMEOUT_MS = 20_000;

/** Wait between two looks, in milliseconds. */
const POLL_MS = 2;

/**
 * Stops a process by SIGSTOP and resolves when none of its threads runs any more; SIGCONT lets it
 * continue.
 *
 * @throws Error when the process does not exist, or when it still runs after 20 s
 */
export async function pauseProcess(pid: number | undefined): Promise<void> {
  if (pid === undefined) throw new Error("There is no process to stop");
  const deadlineMs = performance.now() + STOP_TIMEOUT_MS;
  process.kill(pid, "SIGSTOP");
  while (!standsStill(pid)) {
    if (performance.now() > deadlineMs)
      throw new Error(`The process ${pid} still runs ${STOP_TIMEOUT_MS} ms after it was stopped`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/** Returns true if every thread is in the state T, which follows the name in brackets (proc_pid_stat(5)). */
function standsStill(pid: number): boolean {
  try {
    return readdirSync(`/proc/${pid}/task`).every((thread) =>
      /\) T [^)]*$/.test(readFileSync(`/proc/${pid}/task/${thread}/stat`, "latin1")),
    );
  } catch {
    return false; // A thread ended between the two reads: the next look shows those that are left.
  }
}
