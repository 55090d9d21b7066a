// Tests what a service error carries, and how any thrown value reads in one line.
import { describe, expect, it } from "vitest";

import { describeError, ServiceError } from "./service-error.ts";

class CodedError extends Error {
  readonly code = "ECONNREFUSED";
}

function circular(): object {
  const value: { self?: object } = {};
  value.self = value;
  return value;
}

describe("ServiceError", () => {
  it("ServiceError keeps code, message, cause and transient when all are given", () => {
    const cause = new Error("refused");
    const error = new ServiceError("STORE_UNAVAILABLE", "Cannot count", { cause, transient: true });
    expect(error).toMatchObject({
      name: "ServiceError",
      code: "STORE_UNAVAILABLE",
      message: "Cannot count",
      cause,
      transient: true,
    });
  });

  it("ServiceError has no cause and is permanent when nothing else is said", () => {
    const error = new ServiceError("NO_CONFIG", "Cannot decide");
    expect("cause" in error).toBe(false);
    expect(error.transient).toBe(false);
  });
});

describe("describeError()", () => {
  it.each([
    { what: "a plain error", error: new Error("broken"), text: "broken" },
    {
      what: "a cause",
      error: new Error("Cannot read", { cause: new Error("no such file") }),
      text: "Cannot read: no such file",
    },
    {
      what: "a cause already quoted",
      error: new Error("Cannot read: EIO", { cause: new Error("EIO") }),
      text: "Cannot read: EIO",
    },
    {
      what: "a cause of a cause",
      error: new Error("a", { cause: new Error("b", { cause: new Error("c") }) }),
      text: "a: b: c",
    },
    { what: "a cause that is no error", error: new Error("a", { cause: "gone" }), text: "a: gone" },
    { what: "several lines", error: new Error("first\n  second\n"), text: "first; second" },
    {
      what: "several errors without a message",
      error: new AggregateError([new Error("v6"), new Error("v4")], ""),
      text: "v6; v4",
    },
    { what: "a code without a message", error: new CodedError(), text: "ECONNREFUSED" },
    { what: "no message at all", error: new TypeError(), text: "TypeError" },
    { what: "a text", error: "out of cheese", text: "out of cheese" },
    { what: "an object", error: { status: 404 }, text: '{"status":404}' },
    { what: "undefined", error: undefined, text: "undefined" },
    { what: "null", error: null, text: "null" },
    { what: "a circular object", error: circular(), text: "[object Object]" },
  ])("describeError() gives one line when it gets $what", ({ error, text }) => {
    expect(describeError(error)).toBe(text);
  });

  it("describeError() ends when an error is its own cause", () => {
    const error = new Error("loop");
    error.cause = error;
    expect(describeError(error)).toBe("loop");
  });

  it("describeError() follows eight causes when there are more", () => {
    let error = new Error("m9");
    for (let depth = 8; depth >= 0; depth--) error = new Error(`m${depth}`, { cause: error });
    expect(describeError(error)).toBe("m0: m1: m2: m3: m4: m5: m6: m7: m8");
  });
});
