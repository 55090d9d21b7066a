// Tests of count-text.ts.
import { create } from "@bufbuild/protobuf";
import { expect, it } from "vitest";

import { LimitCountSchema } from "../generated/weir/observe/v1/observe_pb.ts";
import { countText } from "./count-text.ts";

it.each([
  { count: { capacity: 5, hits: 3n, remaining: 2, resetSeconds: 40 }, text: "3 of 5 used, 2 left, resets in 40 s" },
  { count: { capacity: 5, remaining: 5 }, text: "0 of 5 used, 5 left" },
  { count: { capacity: 5, hits: 7n, resetSeconds: 119, retrySeconds: 119 }, text: "7 of 5 used, none left for 119 s" },
  { count: { capacity: 5, hits: 5n, retrySeconds: 121 }, text: "5 of 5 used, none left for 3 min" },
  { count: { capacity: 5, hits: 5n, retrySeconds: 7200 }, text: "5 of 5 used, none left for 2 h" },
  { count: { capacity: 5, hits: 5n, retrySeconds: 172_801 }, text: "5 of 5 used, none left for 3 d" },
])("countText() gives $text", ({ count, text }) => expect(countText(create(LimitCountSchema, count))).toBe(text));
