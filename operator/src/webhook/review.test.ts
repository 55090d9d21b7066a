// The findings of the webhook in resources: the problems of the shared validator, and warnings about the
// rest of the cluster.
import { type KubernetesObject, readObject } from "@weir/kubernetes/client/kubernetes-object";
import { beforeEach, describe, expect, it } from "vitest";

import type { AdmissionRequest } from "./admission-review.ts";
import { review } from "./review.ts";

const GROUP = "ratelimit.weir.dev";

function metadata(namespace: string, name: string, creationTimestamp = "2026-11-22T12:00:00Z") {
  return { namespace, name, uid: `${namespace}-${name}`, resourceVersion: "1", creationTimestamp };
}

function config(spec: object, meta: object = metadata("shop", "a")) {
  return { apiVersion: `${GROUP}/v1alpha1`, kind: "RateLimitConfig", metadata: meta, spec };
}

function service(spec: object, meta: object = metadata("shop", "a")) {
  const backend = { type: "memory" };
  return { apiVersion: `${GROUP}/v1alpha1`, kind: "RateLimitService", metadata: meta, spec: { backend, ...spec } };
}

let configs: KubernetesObject[];
let services: KubernetesObject[];
let pods: Record<string, boolean>;

beforeEach(() => {
  configs = [];
  services = [];
  pods = {};
});

function findings(object: Record<string, unknown>, more: Partial<AdmissionRequest> = {}) {
  const kind = String(object["kind"]);
  return review(
    { uid: "1", group: GROUP, kind, object, oldObject: undefined, ...more },
    {
      clock: () => Date.parse("2026-11-22T13:00:00Z"),
      configs: { list: () => configs },
      services: { list: () => services },
      hasPods: (fleet) => pods[fleet],
    },
  );
}

const limit = (requestsPerUnit: number) => ({ unit: "second", requestsPerUnit });

/** Rules that only the validator of all rules refuses, not the schema. */
const INVALID = {
  domain: "d",
  descriptors: [
    { key: "a", value: "b" },
    { key: "a_b", rateLimit: limit(1) },
  ],
};
const PROBLEM = "spec.descriptors[1].key: duplicate descriptor composite key 'd.a_b', first at spec.descriptors[0]";

describe("review() of a RateLimitConfig", () => {
  it("review() finds nothing in a good one", () => {
    const good = config({ domain: "d", descriptors: [{ key: "a", rateLimit: limit(1) }] });
    expect(findings(good)).toEqual({ problems: [], warnings: [] });
  });

  it("review() refuses what the validator refuses, in its words", () => {
    expect(findings(config(INVALID))).toEqual({ problems: [PROBLEM], warnings: [] });
  });

  it("review() refuses limits whose fields do not fit each other, at every level", () => {
    const limits = [
      { ...limit(1), name: "a", burst: 5 },
      { ...limit(1), name: "b", timeZone: "Mars/Base", unit: "day" },
    ];
    const descriptors = [{ key: "a", descriptors: [{ key: "b", rateLimits: limits }] }];
    expect(findings(config({ domain: "d", descriptors })).problems).toEqual([
      "spec.descriptors[0].descriptors[0].rateLimits[0].burst: a burst needs the algorithm token_bucket, current algorithm is 'fixed_window'",
      "spec.descriptors[0].descriptors[0].rateLimits[1].timeZone: unknown time zone 'Mars/Base': must be a name such as Europe/Zurich or UTC",
    ]);
  });

  it("review() refuses what the schema refuses", () => {
    expect(findings(config({ domain: 1 })).problems).toEqual([
      "spec.domain: must be a string, is the number 1: put it in quotes",
    ]);
  });

  it("review() lets an invalid one change when its rules stay, into shadow mode too, and one that is being deleted", () => {
    const invalid = config(INVALID);
    expect(findings(invalid, { oldObject: invalid })).toEqual({ problems: [], warnings: [PROBLEM] });
    const switched = config({ ...INVALID, shadowMode: true });
    expect(findings(switched, { oldObject: invalid }).problems).toEqual([]);
    const deleted = config(INVALID, { ...metadata("shop", "a"), deletionTimestamp: "2026-11-22T13:00:00Z" });
    expect(findings(deleted)).toEqual({ problems: [], warnings: [] });
  });

  it("review() warns of rules that no request reaches, and of a limit of 0", () => {
    const descriptors = [
      { key: "a", value: "*", rateLimit: limit(1) },
      { key: "a", rateLimit: limit(0) },
    ];
    expect(findings(config({ domain: "d", descriptors })).warnings).toEqual([
      "spec.descriptors[1]: no request reaches this rule: spec.descriptors[0] takes all that it matches",
      "spec.descriptors[1].rateLimit.requestsPerUnit: the limit is 0: every request that meets this rule is rejected",
    ]);
  });

  it("review() warns of characters that look like others, and refuses none", () => {
    const descriptors = [{ key: "us\u200ber", value: "p\u0430ypal", rateLimit: limit(1) }];
    expect(findings(config({ domain: "d\u202e", descriptors }))).toEqual({
      problems: [],
      warnings: [
        "spec.domain: has bidirectional controls, which change the order of what is shown: U+202E at character 2",
        "spec.descriptors[0].key: has invisible characters: U+200B at character 3",
        "spec.descriptors[0].value: has Latin and Cyrillic letters in one word, which look alike: U+0430 at character 2",
      ],
    });
  });

  it.each([
    { title: "an older owner", spec: {}, created: "2026-11-22T11:00:00Z", expected: 1 },
    { title: "a younger claim", spec: {}, created: "2026-11-22T14:00:00Z", expected: 0 },
    {
      title: "an older owner in another fleet",
      spec: { fleets: ["other"] },
      created: "2026-11-22T11:00:00Z",
      expected: 0,
    },
    { title: "an older resource that is invalid", spec: INVALID, created: "2026-11-22T11:00:00Z", expected: 0 },
    { title: "an older owner of another domain", spec: { domain: "x" }, created: "2026-11-22T11:00:00Z", expected: 0 },
  ])("review() has $expected warnings of $title", ({ spec, created, expected }) => {
    configs.push(readObject(config({ domain: "d", ...spec }, metadata("bank", "b", created)))!);
    const { problems, warnings } = findings(config({ domain: "d", fleets: ["core"] }));
    expect(problems).toEqual([]);
    expect(warnings).toEqual(
      expected === 0
        ? []
        : ['spec.domain: domain "d" belongs to bank/b in fleet "core": the oldest resource owns a domain'],
    );
  });

  it("review() checks the ten oldest resources with the domain only, as each takes time", () => {
    const invalid = (index: number) =>
      readObject(config(INVALID, metadata("bank", `b${index}`, "2026-11-22T10:00:00Z")))!;
    const owner = readObject(config({ domain: "d" }, metadata("bank", "owner", "2026-11-22T11:00:00Z")))!;
    configs = [owner, ...Array.from({ length: 9 }, (_, index) => invalid(index))];
    expect(findings(config({ domain: "d" })).warnings).toHaveLength(1);
    configs.push(invalid(9));
    expect(findings(config({ domain: "d" })).warnings).toEqual([]);
  });

  it("review() takes a resource for its own form, not for another owner", () => {
    configs.push(readObject(config({ domain: "d" }))!);
    expect(findings(config({ domain: "d" })).warnings).toEqual([]);
  });

  it("review() warns of a fleet without pods, not of one that it does not know about", () => {
    pods = { core: true, edge: false };
    expect(findings(config({ domain: "d", fleets: ["core", "edge", "unknown"] })).warnings).toEqual([
      'spec.fleets[1]: no rate limit pod of the fleet "edge" is connected',
    ]);
  });
});

describe("review() of a RateLimitService", () => {
  it("review() finds nothing in a good one", () => {
    expect(findings(service({}))).toEqual({ problems: [], warnings: [] });
  });

  it("review() refuses an unknown setting, with the nearest known one", () => {
    expect(findings(service({ env: [{ name: "LOG_LEVL", value: "debug" }] })).problems).toEqual([
      expect.stringMatching(/^spec\.env\[0\]\.name: unknown setting LOG_LEVL; the nearest known one is LOG_LEVEL/),
    ]);
  });

  it("review() warns of a fleet that belongs to another namespace", () => {
    services.push(readObject(service({ fleet: "core" }, metadata("bank", "b", "2026-11-22T11:00:00Z")))!);
    expect(findings(service({ fleet: "core" })).warnings).toEqual([
      'spec.fleet: the fleet "core" belongs to the older RateLimitService bank/b',
    ]);
    expect(findings(service({ fleet: "core" }, metadata("bank", "c"))).warnings).toEqual([]);
  });

  it("review() refuses a fleet of another namespace, also while no resource of that has it", () => {
    const text =
      'spec.fleet: the fleet "bank.b" belongs to the namespace bank: a RateLimitService in the namespace shop may name shop.* and names without a dot';
    const squatter = service({ fleet: "bank.b" });
    expect(findings(squatter)).toEqual({ problems: [text], warnings: [] });
    expect(findings(squatter, { oldObject: squatter })).toEqual({ problems: [], warnings: [text] });
    expect(findings(service({ fleet: "shop.b" }))).toEqual({ problems: [], warnings: [] });
  });
});

describe("review() of anything else", () => {
  it.each([
    { title: "another kind", group: GROUP, kind: "RateLimitConfigRevision" },
    { title: "another group", group: "apps", kind: "RateLimitConfig" },
  ])("review() finds nothing in $title", ({ group, kind }) => {
    expect(findings(config(INVALID), { group, kind })).toEqual({ problems: [], warnings: [] });
  });

  it("review() finds nothing in a deletion", () => {
    expect(findings(config(INVALID), { object: undefined })).toEqual({ problems: [], warnings: [] });
  });
});
