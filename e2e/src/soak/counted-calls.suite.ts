// Sends a fixed number of calls, each about keys that no call asked about before, and waits for all
// answers.
import type { CallConnection, CallTarget } from "../benchmarks/load/call-connection.ts";
import { keysPerCall, openCallConnection } from "../benchmarks/load/call-connection.ts";

/**
 * Connections, and calls in flight on each: enough to keep a server busy, and few enough to be
 * answered in time by a busy one.
 */
const CONNECTIONS = 4;
const IN_FLIGHT = 4;

/** What came back. */
export interface CountedAnswers {
  readonly within: number;
  readonly over: number;
}

/**
 * Asks about the keys from `firstKey` up to `endKey`, which is not among them. Rejects as soon as a
 * call fails.
 */
export async function askAboutKeys(target: CallTarget, firstKey: number, endKey: number): Promise<CountedAnswers> {
  const step = keysPerCall(target.message);
  const answers = { within: 0, over: 0 };
  const connections: CallConnection[] = [];
  let nextKey = firstKey;
  let waiting = 0;
  try {
    await new Promise<void>((resolve, reject) => {
      const send = (connection: CallConnection): void => {
        if (nextKey >= endKey) return;
        connection.call(nextKey, performance.now());
        connection.flush();
        nextKey += step;
        waiting++;
      };
      const open = async (): Promise<void> => {
        const connection: CallConnection = await openCallConnection(target, {
          answered: (code) => {
            answers[code === 1 ? "within" : "over"]++;
            waiting--;
            send(connection);
            if (waiting === 0) resolve();
          },
          failed: (reason) => reject(new Error(reason)),
        });
        connections.push(connection);
      };
      const start = async (): Promise<void> => {
        for (let index = 0; index < CONNECTIONS; index++) await open();
        for (const connection of connections) for (let call = 0; call < IN_FLIGHT; call++) send(connection);
      };
      start().catch(reject);
    });
  } finally {
    for (const connection of connections) connection.close();
  }
  return answers;
}
