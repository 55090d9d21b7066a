// The words for a listener that does not open.
import { describe, expect, it } from "vitest";

import { formatAddress, listenError } from "./listen.ts";

const options = { host: "127.0.0.1", port: 8081, setting: "GRPC_PORT", what: "gRPC" };

function errnoError(code: string): Error {
  return Object.assign(new Error(`listen ${code}`), { code });
}

describe("listenError()", () => {
  it.each([
    { cause: errnoError("EADDRINUSE"), reason: "the port is in use; set GRPC_PORT to another one" },
    { cause: errnoError("EACCES"), reason: "this user may not take that port; set GRPC_PORT to one above 1023" },
    { cause: errnoError("EADDRNOTAVAIL"), reason: "no network interface of this machine has that address" },
    { cause: errnoError("ENOTFOUND"), reason: "that host name has no address" },
    { cause: errnoError("EMFILE"), reason: "listen EMFILE; GRPC_PORT moves it" },
    { cause: "no reason", reason: "no reason; GRPC_PORT moves it" },
  ])("listenError() says $reason when the cause is $cause", ({ cause, reason }) => {
    const error = listenError(cause, options);
    expect(error.code).toBe("LISTEN_FAILED");
    expect(error.message).toBe(`Cannot listen for gRPC on 127.0.0.1:8081: ${reason}`);
  });

  it("listenError() keeps the cause when it has no words for it", () => {
    const cause = errnoError("EMFILE");
    expect(listenError(cause, options).cause).toBe(cause);
  });
});

describe("formatAddress()", () => {
  it.each([
    { host: "127.0.0.1", port: 80, text: "127.0.0.1:80" },
    { host: "::1", port: 80, text: "[::1]:80" },
  ])("formatAddress() gives $text when the host is $host", ({ host, port, text }) => {
    expect(formatAddress({ host, port })).toBe(text);
  });
});
