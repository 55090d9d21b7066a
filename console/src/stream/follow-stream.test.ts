import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { followStream } from "./follow-stream.ts";

describe("followStream()", () => {
  const end = new AbortController();

  beforeEach(() => {
    vi.useFakeTimers();
  });

  afterEach(() => {
    vi.useRealTimers();
  });

  it("opens a stream again that ends, after pauses that grow, and one that is silent", async () => {
    const attempts: (() => AsyncGenerator<string>)[] = [
      async function* () {
        yield "one";
      },
      async function* () {
        throw new TypeError("fetch failed");
      },
      async function* () {
        throw new Error("it is shutting down");
      },
      async function* () {
        yield "two";
        await Promise.withResolvers().promise;
      },
    ];
    const log: string[] = [];
    let opened = 0;
    void followStream(
      {
        open: (signal) => aborting((attempts[opened++] ?? attempts[3]!)(), signal),
        received: (message) => log.push(message),
        failed: (reason) => log.push(reason),
        random: () => 0,
      },
      end.signal,
    );
    await vi.advanceTimersByTimeAsync(124);
    expect([opened, log]).toEqual([1, ["one", "it has ended the connection"]]);
    await vi.advanceTimersByTimeAsync(1);
    expect([opened, log.slice(2)]).toEqual([2, ["it does not answer"]]);
    await vi.advanceTimersByTimeAsync(250);
    expect([opened, log.slice(3)]).toEqual([3, ["it is shutting down"]]);
    await vi.advanceTimersByTimeAsync(500);
    expect([opened, log.slice(4)]).toEqual([4, ["two"]]);
    await vi.advanceTimersByTimeAsync(6000);
    expect(log.slice(5)).toEqual(["it has sent nothing for 6 s"]);
    end.abort();
  });
});

/** The generator, which fails when the signal aborts, as a request does. */
async function* aborting(stream: AsyncGenerator<string>, signal: AbortSignal): AsyncGenerator<string> {
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener("abort", () => reject(new Error("aborted")));
  });
  for (;;) {
    const next = await Promise.race([stream.next(), aborted]);
    if (next.done === true) return;
    yield next.value;
  }
}
