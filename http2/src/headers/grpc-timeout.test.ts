import { describe, expect, it } from "vitest";
import { parseGrpcTimeout } from "./grpc-timeout.ts";

describe("parseGrpcTimeout()", () => {
  it.each([
    { text: "1H", ms: 3_600_000 },
    { text: "2M", ms: 120_000 },
    { text: "3S", ms: 3000 },
    { text: "20m", ms: 20 },
    { text: "500u", ms: 0.5 },
    { text: "1000000n", ms: 1 },
    { text: "0m", ms: 0 },
    { text: "00000001S", ms: 1000 },
    { text: "99999999H", ms: 359_999_996_400_000 },
  ])("$text is $ms ms", ({ text, ms }) => {
    expect(parseGrpcTimeout(Buffer.from(` ${text} `), 1, 1 + text.length)).toBe(ms);
  });

  it.each(["", "m", "1", "1 m", " 1m", "1m ", "-1m", "+1m", "1.5S", "1s", "1h", "1ms", "123456789m", "1é", "0x1m"])(
    "%j is malformed",
    (text) => {
      const bytes = Buffer.from(text, "latin1");
      expect(parseGrpcTimeout(bytes, 0, bytes.length)).toBeNaN();
    },
  );
});
