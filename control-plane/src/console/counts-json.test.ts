// Tests of counts-json.ts.
import { create, fromJsonString, toJsonString } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { FleetKeysSchema, WatchCountsResponseSchema } from "@weir/proto/generated/weir/console/v1/console_pb";
import { ObservationSchema } from "@weir/proto/generated/weir/observe/v1/observe_pb";
import { expect, it } from "vitest";

import { countsJson } from "./counts-json.ts";

const rule = { domain: "shop", path: 'shop.user_"\u2028<b>' };

const counts = create(ObservationSchema, {
  ...{ startSeconds: 1_800_000_000n, stepSeconds: 10, steps: 1 },
  totals: { decisions: [3], latencies: [{ step: 0, buckets: [1, 2] }] },
  rules: [{ rule, hits: [3] }],
});

const keys = create(FleetKeysSchema, {
  keys: { rule, byHits: [{ values: [{ key: "user", shown: { case: "hash", value: new Uint8Array(8) } }], count: 3n }] },
  othersHitsMax: 1n,
});

it.each([
  { what: "nothing", response: {} },
  { what: "fleets without counts", response: { replaces: true, fleets: [{ fleet: "a" }, { fleet: "b", pods: 2 }] } },
  {
    what: "counts",
    response: {
      fleets: [
        { fleet: 'a"', counts, endSeconds: 7n },
        { fleet: "b", counts },
      ],
    },
  },
  {
    what: "counts and keys",
    response: {
      fleets: [
        { fleet: "a", counts, keys: [keys, keys] },
        { fleet: "b", keys: [keys] },
      ],
    },
  },
])("countsJson() is the JSON of protobuf for $what", ({ response }) => {
  const head = { replica: "r", instance: "i", observedAt: timestampFromMs(1_800_000_000_500), rolloutChanges: 9n };
  const message = create(WatchCountsResponseSchema, { ...head, ...response });
  const texts = [1, 2].map(() => countsJson(message));
  expect(texts.map((text) => JSON.parse(text) as unknown)).toEqual(
    [1, 2].map(() => JSON.parse(toJsonString(WatchCountsResponseSchema, message)) as unknown),
  );
  expect(fromJsonString(WatchCountsResponseSchema, texts[0] ?? "")).toEqual(message);
});
