// Tests of ads-access.ts: what counts as a refusal.
import type { PeerCertificate } from "node:tls";

import { create } from "@bufbuild/protobuf";
import { status } from "@grpc/grpc-js";
import { silentLog } from "@weir/common/log/log";
import { RateLimitedLog } from "@weir/common/log/rate-limited-log";
import type { TlsFiles } from "@weir/common/tls/tls-files";
import { NodeSchema } from "@weir/proto/generated/envoy/config/core/v3/base_pb";
import { describe, expect, it } from "vitest";

import { AdsAccess } from "./ads-access.ts";
import type { SecuredCall } from "./ads-security.ts";

/** A call on a connection with a certificate of this name; without one, the connection is gone. */
function callWith(name?: string, kind = "DNS"): SecuredCall {
  const certificate = { subjectaltname: `${kind}:${name}` } as PeerCertificate;
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

  it.each([
    { when: "names neither", metadata: {}, code: undefined, counted: [] },
    { when: "names both", metadata: { namespace: "shop", fleet: "core" }, code: undefined, counted: [] },
    { when: "names another fleet", metadata: { fleet: "edge" }, code: status.PERMISSION_DENIED, counted: ["fleet-not-allowed"] }, // prettier-ignore
    { when: "names another namespace", metadata: { namespace: "bank" }, code: status.PERMISSION_DENIED, counted: ["fleet-not-allowed"] }, // prettier-ignore
  ])("binds a pod to namespace and fleet of its certificate when it $when", ({ metadata, code, counted }) => {
    const refused: string[] = [];
    const access = new AdsAccess({
      security: { kind: "mutual-tls", files: {} as TlsFiles, allowedNames: [], isFleetFromCertificate: true },
      warnings: new RateLimitedLog(silentLog(), { clock: () => 0, intervalMs: 1000 }),
      refused: (reason) => refused.push(reason),
    });
    const call = callWith("spiffe://cluster.local/ns/shop/fleet/core", "URI");
    const pod = access.admitPod(call);
    expect(pod).toMatchObject({ granted: { namespace: "shop", fleet: "core" } });
    expect(access.refuseNode(call, pod, create(NodeSchema, { id: "pod-7", metadata }))?.code).toBe(code);
    expect(refused).toEqual(counted);
  });
});
