// Tests of ads-access.ts: what counts as a refusal.
import { create } from "@bufbuild/protobuf";
import { silentLog } from "@weir/common/log/log";
import { RateLimitedLog } from "@weir/common/log/rate-limited-log";
import type { TlsFiles } from "@weir/common/tls/tls-files";
import { GrpcStatus } from "@weir/http2/grpc/status";
import { NodeSchema } from "@weir/proto/generated/envoy/config/core/v3/base_pb";
import { describe, expect, it } from "vitest";

import { AdsAccess } from "./ads-access.ts";
import type { AdsPeer } from "./ads-peer.ts";

/** A client with a certificate of this name. */
function peerWith(name: string, kind = "DNS"): AdsPeer {
  return { address: "192.0.2.1:4000", certificate: { subjectaltname: `${kind}:${name}` } };
}

describe("AdsAccess", () => {
  it.each([
    { what: "an allowed name", name: "pod.example", code: undefined, counted: [] },
    { what: "another name", name: "other.example", code: GrpcStatus.PERMISSION_DENIED, counted: ["name-not-allowed"] },
  ])("answers $what, and counts a refusal", ({ name, code, counted }) => {
    const refused: string[] = [];
    const access = new AdsAccess({
      security: { kind: "mutual-tls", files: {} as TlsFiles, allowedNames: ["pod.example"] },
      warnings: new RateLimitedLog(silentLog(), { monotonicMs: () => 0, intervalMs: 1000 }),
      refused: (reason) => refused.push(reason),
    });
    expect(access.admitPod(peerWith(name)).refusal?.code).toBe(code);
    expect(access.refuseReports(peerWith(name))?.code).toBe(code);
    expect(refused).toEqual([...counted, ...counted]);
  });

  it.each([
    { when: "names neither", metadata: {}, code: undefined, counted: [] },
    { when: "names both", metadata: { namespace: "shop", fleet: "core" }, code: undefined, counted: [] },
    { when: "names another fleet", metadata: { fleet: "edge" }, code: GrpcStatus.PERMISSION_DENIED, counted: ["fleet-not-allowed"] }, // prettier-ignore
    { when: "names another namespace", metadata: { namespace: "bank" }, code: GrpcStatus.PERMISSION_DENIED, counted: ["fleet-not-allowed"] }, // prettier-ignore
  ])("binds a pod to namespace and fleet of its certificate when it $when", ({ metadata, code, counted }) => {
    const refused: string[] = [];
    const access = new AdsAccess({
      security: { kind: "mutual-tls", files: {} as TlsFiles, allowedNames: [], isFleetFromCertificate: true },
      warnings: new RateLimitedLog(silentLog(), { monotonicMs: () => 0, intervalMs: 1000 }),
      refused: (reason) => refused.push(reason),
    });
    const peer = peerWith("spiffe://cluster.local/ns/shop/fleet/core", "URI");
    const pod = access.admitPod(peer);
    expect(pod).toMatchObject({ granted: { namespace: "shop", fleet: "core" } });
    expect(access.refuseNode(peer, pod, create(NodeSchema, { id: "pod-7", metadata }))?.code).toBe(code);
    expect(refused).toEqual(counted);
  });
});
