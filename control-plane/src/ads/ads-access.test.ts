// Tests of ads-access.ts: what counts as a refusal.
import type { PeerCertificate } from "node:tls";

import { status } from "@grpc/grpc-js";
import { silentLog } from "@weir/common/log/log";
import { RateLimitedLog } from "@weir/common/log/rate-limited-log";
import type { TlsFiles } from "@weir/common/tls/tls-files";
import { describe, expect, it } from "vitest";

import { AdsAccess } from "./ads-access.ts";
import type { SecuredCall } from "./ads-security.ts";

/** A call on a connection with a certificate of this name; without one, the connection is gone. */
function callWith(name?: string): SecuredCall {
  const certificate = { subjectaltname: `DNS:${name}` } as PeerCertificate;
  return {
    getPeer: () => "192.0.2.1:4000",
    getAuthContext: () => (name === undefined ? {} : { transportSecurityType: "ssl", sslPeerCertificate: certificate }),
  };
}

describe("AdsAccess", () => {
  it.each([
    { what: "an allowed name", name: "pod.example", code: undefined, counted: [] },
    { what: "another name", name: "other.example", code: status.PERMISSION_DENIED, counted: ["name-not-allowed"] },
    { what: "a connection that is gone", name: undefined, code: status.UNAVAILABLE, counted: [] },
  ])("answers $what, and counts the refusal of a client that is there", ({ name, code, counted }) => {
    const refused: string[] = [];
    const access = new AdsAccess({
      security: { kind: "mutual-tls", files: {} as TlsFiles, allowedNames: ["pod.example"] },
      warnings: new RateLimitedLog(silentLog(), { clock: () => 0, intervalMs: 1000 }),
      refused: (reason) => refused.push(reason),
    });
    expect(access.admitPod(callWith(name)).refusal?.code).toBe(code);
    expect(access.refuseReports(callWith(name))?.code).toBe(code);
    expect(refused).toEqual([...counted, ...counted]);
  });
});
