// Tests of rollout-grpc.ts: faults of ours, and clients that do not read or are gone.
import { create } from "@bufbuild/protobuf";
import { type Log, silentLog } from "@weir/common/log/log";
import type { StreamingCall, StreamingReceiver, UnaryCall } from "@weir/http2/grpc/method";
import { type Rollout, RolloutSchema } from "@weir/proto/generated/weir/rollout/v1/rollout_pb";
import { expect, it } from "vitest";

import { ConcurrencyLimit } from "../concurrency-limit.ts";
import type { RolloutFeed } from "./rollout-feed.ts";
import { rolloutMethods } from "./rollout-grpc.ts";

/** A call whose client takes a message when the test says so. */
class FakeCall {
  receiver: StreamingReceiver | undefined;
  messages = 0;
  readonly ends: unknown[] = [];

  stream(receiver: StreamingReceiver): StreamingCall {
    this.receiver = receiver;
    return this as unknown as StreamingCall;
  }

  sendShared(): boolean {
    this.messages += 1;
    return true;
  }

  reset(): void {}

  end(...status: readonly unknown[]): void {
    this.ends.push(status);
  }
}

/** Calls a method with an empty request. */
function call(method: "GetRollout" | "WatchRollout", feed: unknown, log: Log = silentLog()): FakeCall {
  const limit = new ConcurrencyLimit({ max: 1, task: "report the rollout" });
  const fake = new FakeCall();
  const methods = rolloutMethods({ feed: feed as RolloutFeed, limit, log });
  methods.get(`/weir.rollout.v1.RolloutService/${method}`)?.handle(fake as unknown as UnaryCall, Buffer.alloc(0), 0, 0);
  return fake;
}

it("rolloutMethods() log a fault and tell the client nothing of it when the rollout cannot be told", () => {
  const lines: unknown[] = [];
  const fault = new TypeError("cannot read the secret of undefined");
  const feed = {
    get: () => {
      throw fault;
    },
  };
  const log = { ...silentLog(), error: (message: string, fields: unknown) => lines.push([message, fields]) };
  expect(call("GetRollout", feed, log as Log).ends).toEqual([[13, "internal error"]]);
  expect(lines).toEqual([["Cannot answer a client", { error: fault }]]);
});

it("rolloutMethods() make one state for a watcher that does not read, and the next when it has read that", async () => {
  let made = 0;
  let isGone = false;
  const feed = {
    async *watch(_filter: unknown, signal: AbortSignal): AsyncGenerator<Rollout> {
      for (; !signal.aborted; made += 1) yield create(RolloutSchema);
      isGone = true;
    },
  };
  const watch = call("WatchRollout", feed);
  await settle();
  expect([made, watch.messages]).toEqual([0, 1]);
  watch.receiver?.sent?.();
  await settle();
  expect([made, watch.messages]).toEqual([1, 2]);
  watch.receiver?.closed?.();
  await settle();
  expect([made, isGone]).toEqual([2, true]);
});

/** Lets everything happen that waits for nothing. */
async function settle(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

it("rolloutMethods() end the watch of a client that is gone before its first state", async () => {
  let isOver = false;
  const feed = {
    async *watch() {
      try {
        yield create(RolloutSchema, {});
        yield create(RolloutSchema, {});
      } finally {
        isOver = true;
      }
    },
  };
  const watch = call("WatchRollout", feed);
  watch.receiver?.closed?.();
  await new Promise((resolve) => setImmediate(resolve));
  expect([isOver, watch.messages]).toEqual([true, 0]);
});
