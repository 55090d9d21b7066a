import { expect, it } from "vitest";
import { errorCode } from "./error-code.ts";

it.each<{ what: string; error: unknown; code: string | undefined }>([
  {
    what: "an error of the system",
    error: Object.assign(new Error("no such file"), { code: "ENOENT" }),
    code: "ENOENT",
  },
  { what: "an error without a code", error: new Error("no"), code: undefined },
  {
    what: "a gRPC error, whose code is a number",
    error: Object.assign(new Error("14 UNAVAILABLE"), { code: 14 }),
    code: undefined,
  },
  { what: "something that is no error", error: { code: "ENOENT" }, code: undefined },
  { what: "nothing", error: undefined, code: undefined },
])("errorCode() is $code for $what", ({ error, code }) => {
  expect(errorCode(error)).toBe(code);
});
