import { create } from "@bufbuild/protobuf";
import { RateLimitResponseSchema } from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";
import { describe, expect, it } from "vitest";

import { formatAnswer } from "./output.ts";

describe("formatAnswer", () => {
  it("formatAnswer() writes a line per descriptor, then headers, then the whole", () => {
    const response = create(RateLimitResponseSchema, {
      overallCode: 2,
      statuses: [
        {
          code: 2,
          currentLimit: { requestsPerUnit: 20, unit: 2, name: "search" },
          durationUntilReset: { seconds: 35n },
        },
        {
          code: 1,
          currentLimit: { requestsPerUnit: 5, unit: 7 },
          limitRemaining: 4,
          durationUntilReset: { seconds: 100n },
        },
        { code: 1, limitRemaining: 4294967295 },
        { code: 1 },
      ],
      responseHeadersToAdd: [{ key: "RateLimit-Limit", value: "20" }],
    });
    const descriptors = [
      [
        { key: "user", value: "ada" },
        { key: "path", value: "/search" },
      ],
      [{ key: "plan", value: "free" }],
      [{ key: "plan", value: "internal" }],
      [{ key: "x", value: "" }],
    ];
    expect(formatAnswer(response, descriptors)).toBe(
      "user=ada,path=/search: OVER_LIMIT, 0 left of 20 per minute (search), resets in 35 s\n" +
        "plan=free: OK, 4 left of 5 per week, resets in 100 s\n" +
        "plan=internal: OK, unlimited\n" +
        "x=: OK, no limit\n" +
        "header RateLimit-Limit: 20\n" +
        "overall: OVER_LIMIT\n",
    );
  });

  it("formatAnswer() shows numbers that it does not know", () => {
    const response = create(RateLimitResponseSchema, {
      statuses: [{ code: 9 as never, currentLimit: { unit: 99 as never } }],
    });
    expect(formatAnswer(response, [[{ key: "k", value: "v" }]])).toBe(
      "k=v: UNKNOWN (9), 0 left of 0 per unit 99\noverall: UNKNOWN (0)\n",
    );
  });
});
