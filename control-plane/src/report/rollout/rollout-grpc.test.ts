// Tests of rollout-grpc.ts: what a client, and the log, hear of a fault of ours; what is made for a
// client that does not read.
import { Writable } from "node:stream";

import { create } from "@bufbuild/protobuf";
import { silentLog } from "@weir/common/log/log";
import { type Rollout, RolloutSchema } from "@weir/proto/generated/weir/rollout/v1/rollout_pb";
import { expect, it } from "vitest";

import { ConcurrencyLimit } from "../concurrency-limit.ts";
import type { RolloutFeed } from "./rollout-feed.ts";
import { rolloutGrpcService } from "./rollout-grpc.ts";

const LIMIT = new ConcurrencyLimit({ max: 1, task: "report the rollout" });

it("rolloutGrpcService() logs a fault and tells the client nothing of it when the rollout cannot be told", () => {
  const lines: unknown[] = [];
  const fault = new TypeError("cannot read the secret of undefined");
  const feed = {
    get: () => {
      throw fault;
    },
  } as unknown as RolloutFeed;
  const log = { ...silentLog(), error: (message: string, fields: unknown) => lines.push([message, fields]) };
  const { implementation } = rolloutGrpcService({ feed, limit: LIMIT, log });
  const answers: unknown[] = [];
  const getRollout = implementation["getRollout"] as unknown as (
    call: unknown,
    answer: (error: unknown) => void,
  ) => void;
  getRollout({ request: {} }, (error) => answers.push(error));
  expect(answers).toMatchObject([{ code: 13, details: "internal error" }]);
  expect(lines).toEqual([["Cannot report the rollout", { error: fault }]]);
});

it("rolloutGrpcService() makes one state for a watcher that does not read, and the next when it has read that", async () => {
  let made = 0;
  let isGone = false;
  const feed = {
    async *watch(_filter: unknown, signal: AbortSignal): AsyncGenerator<Rollout> {
      for (; !signal.aborted; made += 1) yield create(RolloutSchema);
      isGone = true;
    },
  } as unknown as RolloutFeed;
  const reads: (() => void)[] = [];
  const stream = new Writable({ objectMode: true, write: (_state, _encoding, read) => reads.push(read) });
  const { implementation } = rolloutGrpcService({ feed, limit: LIMIT, log: silentLog() });
  const call = Object.assign(stream, { request: {}, getPeer: () => "192.0.2.1:4711" });
  (implementation["watchRollout"] as unknown as (call: unknown) => void)(call);
  await settle();
  expect([made, reads.length, stream.writableLength]).toEqual([0, 1, 1]);
  reads.shift()?.();
  await settle();
  expect([made, reads.length, stream.writableLength]).toEqual([1, 1, 1]);
  call.emit("cancelled");
  await settle();
  expect([made, isGone]).toEqual([2, true]);
});

/** Lets everything happen that waits for nothing. */
async function settle(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
