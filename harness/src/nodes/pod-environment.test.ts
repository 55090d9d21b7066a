// The environment of a container: references, fields of the pod, and the addresses to listen on.
import { describe, expect, it } from "vitest";

import { expand, podEnvironment } from "./pod-environment.ts";

const POD = {
  metadata: { name: "core-1", namespace: "shop", uid: "u1", labels: { "app.kubernetes.io/name": "weir-ratelimit" } },
  spec: { nodeName: "node-1" },
};
const PLACE = { podAddress: "198.18.0.7", nodeAddress: "198.18.0.0", apiServer: new URL("https://127.0.0.1:6443") };
const DATA = {
  secret: (name: string) => (name === "shop/store" ? { password: "p" } : undefined),
  configMap: (name: string) => (name === "shop/settings" ? { LOG_LEVEL: "info" } : undefined),
};

function environment(env: readonly object[], more: object = {}) {
  return podEnvironment(POD, { env, ...more }, PLACE, DATA);
}

describe("podEnvironment()", () => {
  it.each([
    { value: { value: "x" }, gives: "x" },
    { value: { value: "$(HOSTNAME)/$$(HOSTNAME)/$(NONE)" }, gives: "core-1/$(HOSTNAME)/$(NONE)" },
    { value: { valueFrom: { fieldRef: { fieldPath: "metadata.namespace" } } }, gives: "shop" },
    { value: { valueFrom: { fieldRef: { fieldPath: "spec.nodeName" } } }, gives: "node-1" },
    { value: { valueFrom: { fieldRef: { fieldPath: "status.podIP" } } }, gives: "198.18.0.7" },
    {
      value: { valueFrom: { fieldRef: { fieldPath: "metadata.labels['app.kubernetes.io/name']" } } },
      gives: "weir-ratelimit",
    },
    { value: { valueFrom: { secretKeyRef: { name: "store", key: "password" } } }, gives: "p" },
    { value: { valueFrom: { configMapKeyRef: { name: "settings", key: "LOG_LEVEL" } } }, gives: "info" },
    { value: { valueFrom: { secretKeyRef: { name: "none", key: "k", optional: true } } }, gives: undefined },
  ])("gives $gives for $value", ({ value, gives }) => {
    expect(environment([{ name: "A", ...value }])["A"]).toBe(gives);
  });

  it("throws when a Secret or its key is missing", () => {
    const refer = (name: string, key: string) =>
      environment([{ name: "A", valueFrom: { secretKeyRef: { name, key } } }]);
    expect(() => refer("none", "k")).toThrow("Cannot start the container: no secret none");
    expect(() => refer("store", "k")).toThrow("Cannot start the container: no key k in secret store");
  });

  it("takes all keys of a ConfigMap, which variables of the container win over", () => {
    const envFrom = [{ prefix: "W_", configMapRef: { name: "settings" } }, { configMapRef: { name: "settings" } }];
    const env = environment([{ name: "LOG_LEVEL", value: "debug" }], { envFrom });
    expect([env["W_LOG_LEVEL"], env["LOG_LEVEL"]]).toEqual(["info", "debug"]);
  });

  it("makes programs listen at the address of the pod, on the ports of the spec", () => {
    const env = environment([
      { name: "PULLSTATS_ADDR", value: ":9191" },
      { name: "PORT", value: "8080" },
    ]);
    expect(env).toMatchObject({ GRPC_HOST: "198.18.0.7", PULLSTATS_ADDR: "198.18.0.7:9191", PORT: "8080" });
  });
});

describe("expand()", () => {
  it("replaces known names only", () => {
    expect(expand("$(A) $(B) $$(A) $A", { A: "1" })).toBe("1 $(B) $(A) $A");
  });
});
