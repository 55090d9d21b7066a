// The needs of pods from others, as people read them.
import type { RateLimitServiceSpec } from "@weir/crds/rate-limit-service/schema/schema";
import { describe, expect, it } from "vitest";

import { needsOf } from "./needs.ts";
import { workloadOf } from "./objects/workload.ts";

const PASSWORD = { passwordSecretRef: { name: "store", key: "pass" } };

function needs(spec: RateLimitServiceSpec, { isPlaintext = false, foreign = [] as readonly string[] } = {}) {
  const options = {
    image: "weir:1",
    imagePullSecrets: [],
    monitoring: { labels: {}, interval: undefined, namespaces: [] },
    log: { level: "info", format: "json" },
    controlPlane: { address: "ads:18000", isPlaintext },
  };
  const workload = workloadOf({ metadata: { namespace: "shop", name: "core" }, spec }, "u1", options);
  return needsOf(workload, new Set(foreign));
}

describe("needsOf()", () => {
  it("is nothing for pods without Secrets and store", () => {
    expect(needs({ backend: { type: "memory" } }, { isPlaintext: true })).toEqual({
      secrets: undefined,
      foreignCertificate: undefined,
      store: undefined,
    });
  });

  it("names each Secret with the keys that are mounted", () => {
    const single = { address: "redis:6379" };
    const tls = { caSecretRef: { name: "store", key: "ca" } };
    expect(needs({ backend: { type: "redis", redis: { type: "single", single, auth: PASSWORD, tls } } })).toEqual({
      secrets: "the Secret weir-ratelimit-tls (core.crt, core.key, ca.crt), the Secret store (pass, ca)",
      foreignCertificate: undefined,
      store: "redis at redis:6379",
    });
  });

  it.each([
    {
      backend: { type: "redis", redis: { type: "sentinel", sentinel: { primary: "p", addresses: ["a:1", "b:1"] } } },
      store: "redis at a:1, b:1",
    },
    {
      backend: { type: "redis", redis: { type: "cluster", cluster: { addresses: ["a:1"] } } },
      store: "redis at a:1",
    },
    { backend: { type: "memcached", memcached: { addresses: ["a:1", "b:1"] } }, store: "memcached at a:1, b:1" },
    { backend: { type: "memcached", memcached: { srv: "_m._tcp.x" } }, store: "memcached at _m._tcp.x" },
  ] satisfies { backend: RateLimitServiceSpec["backend"]; store: string }[])("names $store", ({ backend, store }) => {
    expect(needs({ backend }).store).toBe(store);
  });

  it.each([
    { what: "the Secret of the namespace", spec: {}, foreign: ["shop/weir-ratelimit-tls"], isForeign: true },
    { what: "that of another namespace", spec: {}, foreign: ["bank/weir-ratelimit-tls"], isForeign: false },
    {
      what: "a Secret that the pods do not mount",
      spec: { controlPlane: { certificateSecret: "own" } },
      foreign: ["shop/weir-ratelimit-tls"],
      isForeign: false,
    },
  ])("says whether the operator keeps $what", ({ spec, foreign, isForeign }) => {
    expect(needs({ backend: { type: "memory" }, ...spec }, { foreign }).foreignCertificate).toBe(
      isForeign
        ? "the operator does not keep weir-ratelimit-tls, because it has no label app.kubernetes.io/managed-by=weir-operator"
        : undefined,
    );
  });
});
