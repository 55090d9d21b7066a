// Tests of what an incremental client holds after responses: the set, its order and its version.
import { create, toBinary } from "@bufbuild/protobuf";
import { AnySchema } from "@bufbuild/protobuf/wkt";
import { Random } from "@weir/harness/processes/random";
import { inOneGo } from "@weir/limits/model/in-one-go";
import {
  DeltaDiscoveryResponseSchema,
  type Resource,
  ResourceSchema,
} from "@weir/proto/generated/envoy/service/discovery/v3/discovery_pb";
import { RateLimitConfigSchema } from "@weir/proto/generated/ratelimit/config/ratelimit/v3/rls_conf_pb";
import { setVersion } from "@weir/proto/grpc/set-version";
import { RATE_LIMIT_CONFIG_TYPE_URL } from "@weir/proto/grpc/type-url";
import { describe, expect, it } from "vitest";

import { HeldResources } from "./delta-messages.ts";

/** A resource whose configuration has a domain with its name and version. */
function resource(name: string, version: string): Resource {
  const config = create(RateLimitConfigSchema, { name, domain: `${name} ${version}` });
  const value = toBinary(RateLimitConfigSchema, config);
  return create(ResourceSchema, {
    name,
    version,
    resource: create(AnySchema, { typeUrl: RATE_LIMIT_CONFIG_TYPE_URL, value }),
  });
}

function stepsAfter(held: HeldResources, resources: readonly Resource[], removedResources: readonly string[] = []) {
  return held.afterSteps(
    create(DeltaDiscoveryResponseSchema, { resources: [...resources], removedResources: [...removedResources] }),
  );
}

function after(...[held, resources, removed]: Parameters<typeof stepsAfter>): HeldResources {
  const content = inOneGo(stepsAfter(held, resources, removed));
  if (content.kind !== "configs") throw new Error(JSON.stringify(content));
  return content.held;
}

/** The domains of the configurations, which are in the order of the names. */
function domainsOf({ configs }: HeldResources): readonly string[] {
  return configs.map(({ domain }) => domain);
}

describe("HeldResources", () => {
  it("afterSteps() adds, replaces and removes resources, and leaves the set before as it is", () => {
    const before = after(new HeldResources(), [resource("c", "1"), resource("a", "1"), resource("b", "1")]);
    const [a] = before.configs;
    const held = after(before, [resource("d", "1"), resource("c", "2"), resource("aa", "1")], ["b", "unknown"]);
    expect(domainsOf(held)).toEqual(["a 1", "aa 1", "c 2", "d 1"]);
    expect(held.configs[0]).toBe(a);
    expect(held.versions).toEqual({ a: "1", aa: "1", c: "2", d: "1" });
    expect(held.version).toBe(setVersion(["1", "1", "2", "1"]));
    expect(domainsOf(before)).toEqual(["a 1", "b 1", "c 1"]);
  });

  it("afterSteps() keeps a resource that is both removed and sent, and the last of several with one name", () => {
    const before = after(new HeldResources(), [resource("a", "1")]);
    const held = after(before, [resource("a", "2"), resource("b", "1"), resource("b", "2")], ["a"]);
    expect(domainsOf(held)).toEqual(["a 2", "b 2"]);
  });

  it("afterSteps() refuses a response with one invalid resource, by its name", () => {
    const invalid = create(ResourceSchema, { name: "b", version: "1" });
    expect(inOneGo(stepsAfter(new HeldResources(), [resource("a", "1"), invalid]))).toEqual({
      kind: "invalid",
      reason: "b: it is an empty Resource",
    });
  });

  it("afterSteps() leads to what a map leads to, over random responses", () => {
    const random = new Random(1);
    const byName = new Map<string, string>();
    let held = new HeldResources();
    for (let version = 0; version < 300; version += 1) {
      const names = () => Array.from({ length: random.below(6) }, () => random.text("aB\u{1F600}\uFFFD", 2));
      const [removed, changed] = [names(), names()];
      for (const name of removed) byName.delete(name);
      for (const name of changed) byName.set(name, String(version));
      held = after(
        held,
        changed.map((name) => resource(name, String(version))),
        removed,
      );
      const sorted = [...byName.keys()].toSorted();
      expect(domainsOf(held)).toEqual(sorted.map((name) => `${name} ${byName.get(name)}`));
      expect(held.version).toBe(setVersion(sorted.map((name) => byName.get(name) ?? "")));
    }
  });

  it("afterSteps() has a step for each resource that differs, and for each 1024 of all for the version", () => {
    const many = Array.from({ length: 2000 }, (_, index) => resource(`r${index}`, "1"));
    const steps = stepsAfter(after(new HeldResources(), many), [resource("r7", "2")], ["r8", "r9"]);
    expect(Array.from({ length: 6 }, () => steps.next().done)).toEqual([false, false, false, false, false, true]);
  });
});
