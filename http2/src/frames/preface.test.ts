// Tests of telling HTTP/2 from other protocols by the first bytes.
import { describe, expect, it } from "vitest";

import { CLIENT_PREFACE, classifyPreface, HTTP1_REFUSAL } from "./preface.ts";

describe("classifyPreface()", () => {
  it.each([
    ["", "incomplete"],
    ["P", "incomplete"],
    ["PRI * HTTP/2.0\r\n\r\nSM\r\n\r", "incomplete"],
    ["PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "http2"],
    ["PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04", "http2"],
    ["PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n", "foreign"],
    ["POST", "incomplete"],
    ["GET /healthz", "incomplete"],
    ["GET / HTTP/1.1\r", "incomplete"],
    ["GET / HTTP/1.1\r\n", "http1"],
    ["POST /json HTTP/1.0\nHost: x\n", "http1"],
    ["INVALID CONNECTION PREFACE\r\n\r\n", "foreign"],
    ["get / HTTP/1.1\r\n", "foreign"],
    ["\x16\x03\x01", "foreign"],
    [`GET /${"x".repeat(3000)}`, "foreign"],
  ])("finds %j to be %s", (text, expected) => {
    expect(classifyPreface(Buffer.from(text, "latin1"))).toBe(expected);
  });

  it("finds every beginning of the preface to be incomplete", () => {
    for (let length = 0; length < CLIENT_PREFACE.length; length++)
      expect(classifyPreface(CLIENT_PREFACE.subarray(0, length))).toBe("incomplete");
  });
});

describe("HTTP1_REFUSAL", () => {
  it("is a complete answer", () => {
    const [head, body] = HTTP1_REFUSAL.toString("latin1").split("\r\n\r\n");
    expect(head).toContain("HTTP/1.1 505 ");
    expect(head).toContain(`Content-Length: ${body?.length}`);
    expect(head).toContain("Connection: close");
  });
});
