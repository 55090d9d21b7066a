// Tests of limits in words.
import { describe, expect, it } from "vitest";

import type { RateLimitModel } from "../model/model.ts";
import { limitText } from "./limit-text.ts";

const LIMIT: RateLimitModel = { unit: "Minute", requestsPerUnit: 100, unlimited: false, name: "", replaces: [] };

describe("limitText()", () => {
  it.each<{ limit: Partial<RateLimitModel>; text: string }>([
    { limit: {}, text: "100 per minute" },
    { limit: { name: "cart", requestsPerUnit: 0 }, text: "0 per minute: every request is rejected, named cart" },
    { limit: { unlimited: true, unit: "", name: "all" }, text: "unlimited, named all" },
    { limit: { unitMultiplier: 1, algorithm: "fixed_window" }, text: "100 per minute" },
    { limit: { unitMultiplier: 5, countRejectedHits: false }, text: "100 per 5 minutes, rejected hits do not count" },
    { limit: { algorithm: "sliding_window" }, text: "100 per minute, sliding window" },
    { limit: { algorithm: "token_bucket" }, text: "100 per minute, token bucket with a burst of 100" },
    {
      limit: { algorithm: "token_bucket", burst: 20, countRejectedHits: true },
      text: "100 per minute, token bucket with a burst of 20, rejected hits count",
    },
    {
      limit: { unit: "month", timeZone: "Europe/Zurich", monthDay: 15, name: "bill" },
      text: "100 per month, in the time zone Europe/Zurich, from day 15 on, named bill",
    },
  ])("writes $text", ({ limit, text }) => {
    expect(limitText({ ...LIMIT, ...limit })).toBe(text);
  });
});
