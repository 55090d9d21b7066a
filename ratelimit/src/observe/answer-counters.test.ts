// Tests of answer-counters.ts.
import { create } from "@bufbuild/protobuf";
import { ReadCountersSchema } from "@weir/proto/generated/weir/observe/v1/observe_pb";
import { expect, it } from "vitest";
import { StoreError } from "../counters/store-error.ts";
import { answerCounters } from "./answer-counters.ts";
import type { CountersQuestion } from "./counters-reading.ts";

const ENTRY = { key: "user", value: "ada" };

function questionOf(descriptors: number, entries: number) {
  const each = { entries: Array.from({ length: entries }, () => ENTRY) };
  return create(ReadCountersSchema, {
    id: 7,
    domain: "shop",
    descriptors: Array.from({ length: descriptors }, () => each),
  });
}

it("answerCounters() has the limits in words, and a deadline before that of the control plane", async () => {
  const asked: CountersQuestion[] = [];
  const common = { remaining: 4_294_967_296, resetSeconds: 3, retrySeconds: 0 };
  const bucket = { requestsPerUnit: 5, unit: 2, unitMultiplier: 10, name: "burst" };
  const answer = await answerCounters(
    questionOf(2, 1),
    (question) => {
      asked.push(question);
      return Promise.resolve([
        { path: undefined, limits: [] },
        {
          path: "shop.user",
          limits: [
            { limit: { requestsPerUnit: 5, unit: 7, name: "" }, algorithm: 0, capacity: 5, hits: 9, ...common },
            { limit: bucket, algorithm: 2, capacity: 20, hits: 1, ...common },
          ],
        },
      ]);
    },
    1000,
  );
  const descriptors = [[ENTRY], [ENTRY]];
  expect(asked).toMatchObject([{ domain: "shop", descriptors, deadlineMs: 2500 }]);
  expect(answer).toMatchObject({ id: 7, error: "" });
  expect(answer.descriptors).toMatchObject([
    { path: "", limits: [] },
    {
      path: "shop.user",
      limits: [
        { limit: "5 per week", capacity: 5, hits: 9n, remaining: 4_294_967_295, resetSeconds: 3, retrySeconds: 0 },
        { limit: "5 per 10 minutes, token bucket with a burst of 20, named burst", capacity: 20, hits: 1n },
      ],
    },
  ]);
});

it.each([
  {
    descriptors: 33,
    entries: 1,
    error: new Error("not called"),
    text: "a question may have 32 descriptors of 32 entries",
  },
  {
    descriptors: 1,
    entries: 33,
    error: new Error("not called"),
    text: "a question may have 32 descriptors of 32 entries",
  },
  { descriptors: 32, entries: 32, error: new Error("a bug"), text: "internal error" },
  {
    ...{ descriptors: 1, entries: 1 },
    error: new StoreError("STORE_UNAVAILABLE", "Cannot count on r:1", { cause: new Error("ECONNREFUSED") }),
    text: "Cannot count on r:1: ECONNREFUSED",
  },
])("answerCounters() says why there are no counts: $text", async ({ descriptors, entries, error, text }) => {
  const answer = await answerCounters(questionOf(descriptors, entries), () => Promise.reject(error), 0);
  expect(answer).toMatchObject({ id: 7, error: text, descriptors: [] });
});
