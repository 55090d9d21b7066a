// Tests of rollout-grpc.ts: what a client, and the log, hear of a fault of ours.
import { silentLog } from "@weir/common/log/log";
import { expect, it } from "vitest";

import type { RolloutFeed } from "./rollout-feed.ts";
import { rolloutGrpcService } from "./rollout-grpc.ts";

it("rolloutGrpcService() logs a fault and tells the client nothing of it when the rollout cannot be told", () => {
  const lines: unknown[] = [];
  const fault = new TypeError("cannot read the secret of undefined");
  const feed = {
    get: () => {
      throw fault;
    },
  } as unknown as RolloutFeed;
  const log = { ...silentLog(), error: (message: string, fields: unknown) => lines.push([message, fields]) };
  const { implementation } = rolloutGrpcService({ feed, log });
  const answers: unknown[] = [];
  const getRollout = implementation["getRollout"] as unknown as (call: unknown, answer: (error: unknown) => void) => void;
  getRollout({ request: {} }, (error) => answers.push(error));
  expect(answers).toMatchObject([{ code: 13, details: "internal error" }]);
  expect(lines).toEqual([["Cannot tell the rollout", { error: fault }]]);
});
