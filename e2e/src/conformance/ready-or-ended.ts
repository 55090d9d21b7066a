// Waiting for a program that was just started: until it is ready, or at once with what it said when
// it ended instead.
import { eventually } from "@weir/testing/eventually";
import type { ProcessGroup } from "@weir/dev/process-group";

/**
 * Repeats `attempt` until it does not throw. Fails at once when the program ends, and kills it when
 * it is not ready in time.
 */
export async function waitUntilReadyOrEnded(process: ProcessGroup, attempt: () => void | Promise<void>): Promise<void> {
  try {
    const isReady = await eventually(`${process.name} to be ready`, async () => {
      if (!process.isRunning()) return false;
      await attempt();
      return true;
    });
    if (isReady) return;
    await process.exited; // What it wrote last is read by then.
    throw new Error(`${process.name} ended: ${process.lastLines().join("\n")}`);
  } catch (error) {
    process.kill();
    throw error;
  }
}
