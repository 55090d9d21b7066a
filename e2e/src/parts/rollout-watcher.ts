// Somebody who watches the rollout over HTTP, as a dashboard does: keeps what it was told last.
// Speaks the streams of the Connect protocol: a byte of flags and four of length stand in front of
// each message.
import type { Rollout } from "./replica.ts";

/** Bytes in front of a message. */
const HEADER_BYTES = 5;

/** A watcher. */
export interface RolloutWatcher {
  /** What it was told last; throws when it was told nothing, or when its stream has ended. */
  last(): Rollout;
  close(): void;
}

/** Begins to watch at the HTTP address of a control plane. */
export async function watchRolloutApi(url: string): Promise<RolloutWatcher> {
  const closed = new AbortController();
  const response = await fetch(`${url}/weir.rollout.v1.RolloutService/WatchRollout`, {
    method: "POST",
    headers: { "content-type": "application/connect+json" },
    body: Buffer.from("\0\0\0\0\x02{}"),
    signal: closed.signal,
  });
  if (!response.ok || response.body === null) throw new Error(`The rollout API answered ${response.status}`);
  let last: Rollout | undefined;
  let end: string | undefined;
  void follow(response.body, (rollout) => (last = rollout)).then(
    () => (end = "it has ended"),
    (error: unknown) => (end = String(error)),
  );
  return {
    last: () => {
      if (end !== undefined || last === undefined) throw new Error(`The watch: ${end ?? "nothing was told yet"}`);
      return last;
    },
    close: () => closed.abort(),
  };
}

async function follow(body: AsyncIterable<Uint8Array>, onRollout: (rollout: Rollout) => void): Promise<void> {
  let rest = Buffer.alloc(0);
  for await (const chunk of body) {
    rest = Buffer.concat([rest, chunk]);
    for (;;) {
      const end = rest.length < HEADER_BYTES ? Infinity : HEADER_BYTES + rest.readUInt32BE(1);
      if (rest.length < end) break;
      const message = JSON.parse(rest.toString("utf8", HEADER_BYTES, end)) as { readonly rollout?: Rollout };
      if (message.rollout !== undefined) onRollout(message.rollout);
      rest = rest.subarray(end);
    }
  }
}
