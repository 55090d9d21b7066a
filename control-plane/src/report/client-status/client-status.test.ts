// Tests of client-status.ts and node-matcher.ts: what the client status service says of pods in every state, and whom it selects.
import { create, fromBinary } from "@bufbuild/protobuf";
import {
  ClientStatusRequestSchema,
  type ClientStatusResponse,
  ConfigStatus,
} from "@weir/proto/generated/envoy/service/status/v3/csds_pb";
import type { NodeMatcherSchema } from "@weir/proto/generated/envoy/type/matcher/v3/node_pb";
import { RateLimitConfigSchema } from "@weir/proto/generated/ratelimit/config/ratelimit/v3/rls_conf_pb";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, it, vi } from "vitest";

import { clientStatus } from "./client-status.ts";
import {
  AT_MS,
  podOf,
  podThatAcked,
  podThatNacked,
  podThatNackedAll,
  publisherOf,
  snapshotIn,
} from "../rollout/rollout-facts.suite.ts";
import { manifest } from "../../assemble/manifests.suite.ts";

const PUBLISHER = publisherOf({
  "a.yaml": manifest({ name: "a", domain: "alpha" }),
  "b.yaml": manifest({ name: "b", domain: "beta" }),
});
const SNAPSHOT = snapshotIn(PUBLISHER);
const NOW = { version: SNAPSHOT.version, atMs: AT_MS };
const EARLIER = snapshotIn(
  publisherOf({
    "a.yaml": manifest({ name: "a", domain: "alpha", requestsPerUnit: 1 }),
    "b.yaml": manifest({ name: "b", domain: "beta", requestsPerUnit: 1 }),
  }),
);

type Matcher = MessageInitShape<typeof NodeMatcherSchema>;

function ask(
  pods: readonly ReturnType<typeof podOf>[],
  nodeMatchers: Matcher[] = [],
  excludeResourceContents = false,
): ClientStatusResponse {
  const request = create(ClientStatusRequestSchema, { nodeMatchers, excludeResourceContents });
  return clientStatus({ pods, snapshotFor: () => SNAPSHOT }, request);
}

describe("clientStatus()", () => {
  it.each([
    {
      when: "it has ACKed the active snapshot",
      pod: podThatAcked(SNAPSHOT),
      name: "SYNCED",
      status: ConfigStatus.SYNCED,
      version: SNAPSHOT.version,
    },
    {
      when: "it was sent it and has not answered",
      pod: podThatAcked(EARLIER, { sent: NOW, lastAnswer: undefined, choice: SNAPSHOT }),
      name: "STALE",
      status: ConfigStatus.STALE,
      version: SNAPSHOT.version,
    },
    {
      when: "it was sent something else",
      pod: podThatAcked(EARLIER, { choice: SNAPSHOT }),
      name: "NOT_SENT",
      status: ConfigStatus.NOT_SENT,
      version: "",
    },
    { when: "it was sent nothing", pod: podOf({}), name: "NOT_SENT", status: ConfigStatus.NOT_SENT, version: "" },
    {
      when: "it has NACKed it without the name of a resource",
      pod: podThatNackedAll(SNAPSHOT, EARLIER, "no"),
      name: "ERROR",
      status: ConfigStatus.ERROR,
      version: SNAPSHOT.version,
    },
  ])("says $name when $when", ({ pod, status, version }) => {
    const entries = ask([pod]).config[0]?.genericXdsConfigs.map((entry) => [
      entry.name,
      entry.configStatus,
      entry.versionInfo,
    ]);
    expect(entries).toEqual([
      ["default/a", status, version],
      ["default/b", status, version],
    ]);
  });

  it("reports each resource of a pod that NACKed one by itself", () => {
    const pod = podThatNacked(SNAPSHOT, [{ name: "default/a", form: EARLIER.get("default/a") }]);
    const entries = ask([pod]).config[0]?.genericXdsConfigs.map(({ name, configStatus, errorState }) => [
      name,
      configStatus,
      errorState?.details,
    ]);
    expect(entries).toEqual([
      ["default/a", ConfigStatus.ERROR, "default/a: no"],
      ["default/b", ConfigStatus.SYNCED, undefined],
    ]);
  });

  it("says STALE of everything else while a pod has not answered what it is sent instead of what it NACKed", () => {
    const nacked = podThatNacked(SNAPSHOT, [{ name: "default/a", form: EARLIER.get("default/a") }]);
    const pod = { ...nacked, lastAnswer: undefined, accepted: undefined, acked: undefined };
    const states = ask([pod]).config[0]?.genericXdsConfigs.map(({ configStatus }) => configStatus);
    expect(states).toEqual([ConfigStatus.ERROR, ConfigStatus.STALE]);
  });

  it("reports node, type, time and the resource itself", () => {
    const [client] = ask([podThatAcked(SNAPSHOT)]).config;
    expect(client?.node).toMatchObject({
      id: "gateway/pod-7",
      metadata: { fleet: "gateway", namespace: "edge", pod: "pod-7" },
    });
    const [entry] = client?.genericXdsConfigs ?? [];
    expect(entry).toMatchObject({
      typeUrl: "type.googleapis.com/ratelimit.config.ratelimit.v3.RateLimitConfig",
      lastUpdated: { seconds: 1_769_860_800n },
    });
    expect(entry?.errorState).toBeUndefined();
    expect(fromBinary(RateLimitConfigSchema, entry?.xdsConfig?.value ?? new Uint8Array()).domain).toBe("alpha");
  });

  it("reports why a pod rejected, and what", () => {
    const [entry] =
      ask([podThatNacked(SNAPSHOT, [{ name: "default/a", form: undefined }])]).config[0]?.genericXdsConfigs ?? [];
    expect(entry?.errorState).toMatchObject({
      details: "default/a: no",
      versionInfo: SNAPSHOT.version,
      lastUpdateAttempt: { seconds: 1_769_860_800n },
      failedConfiguration: { typeUrl: "type.googleapis.com/ratelimit.config.ratelimit.v3.RateLimitConfig" },
    });
  });

  it("leaves the resources themselves out when asked to", () => {
    const [entry] = ask([podThatNackedAll(SNAPSHOT, undefined, "no")], [], true).config[0]?.genericXdsConfigs ?? [];
    expect([entry?.name, entry?.xdsConfig, entry?.errorState?.failedConfiguration]).toEqual([
      "default/a",
      undefined,
      undefined,
    ]);
  });

  it("reports of a pod for which no snapshot is active", () => {
    const response = clientStatus(
      { pods: [podOf({})], snapshotFor: () => undefined },
      create(ClientStatusRequestSchema),
    );
    expect(response.config.map(({ node, genericXdsConfigs }) => [node?.id, genericXdsConfigs.length])).toEqual([
      ["gateway/pod-7", 0],
    ]);
  });

  it("refuses an answer that would be too large, and gives it without contents", () => {
    const large = publisherOf({ "a.yaml": manifest({ name: "a", domain: "alpha", largeRules: 400 }) });
    const pods = Array.from({ length: 100 }, () => podOf({}));
    const facts = { pods, snapshotFor: () => snapshotIn(large) };
    expect(() => clientStatus(facts, create(ClientStatusRequestSchema))).toThrow(
      /^Cannot report the status of clients: 100 clients have 100 resources of \d+ bytes together, at most 200000 and 33554432 are reported; select fewer, or set exclude_resource_contents$/,
    );
    expect(
      clientStatus(facts, create(ClientStatusRequestSchema, { excludeResourceContents: true })).config,
    ).toHaveLength(100);
  });
});

describe("nodePredicate()", () => {
  const PODS = [
    podOf({ nodeId: "gateway/pod-7" }),
    podOf({ nodeId: "Billing/pod-1", fleet: "billing", namespace: "", pod: "" }),
  ];

  function selected(...matchers: readonly Matcher[]): readonly (string | undefined)[] {
    return ask(PODS, [...matchers]).config.map(({ node }) => node?.id);
  }

  function nodeId(matchPattern: NonNullable<Matcher["nodeId"]>["matchPattern"], ignoreCase = false): Matcher {
    return { nodeId: { ...(matchPattern === undefined ? {} : { matchPattern }), ignoreCase } };
  }

  function metadata(key: string, matchPattern: object): Matcher {
    return {
      nodeMetadatas: [{ path: [{ segment: { case: "key", value: key } }], value: { matchPattern } }],
    } as Matcher;
  }

  function step(key: string) {
    return { segment: { case: "key" as const, value: key } };
  }

  function equals(text: string) {
    return {
      matchPattern: { case: "stringMatch" as const, value: { matchPattern: { case: "exact" as const, value: text } } },
    };
  }

  /** The fleet billing, below so many alternatives of one. */
  function nested(depth: number): object {
    let value: object = equals("billing");
    for (let level = 0; level < depth; level += 1)
      value = { matchPattern: { case: "orMatch", value: { valueMatchers: [value] } } };
    return (value as { readonly matchPattern: object }).matchPattern;
  }

  const BOTH = ["gateway/pod-7", "Billing/pod-1"];

  it.each([
    { what: "no matcher", matchers: [], expected: BOTH },
    { what: "an exact id", matchers: [nodeId({ case: "exact", value: "gateway/pod-7" })], expected: ["gateway/pod-7"] },
    { what: "an exact id in other case", matchers: [nodeId({ case: "exact", value: "GATEWAY/pod-7" })], expected: [] },
    {
      what: "an exact id in any case",
      matchers: [nodeId({ case: "exact", value: "GATEWAY/pod-7" }, true)],
      expected: ["gateway/pod-7"],
    },
    { what: "a prefix", matchers: [nodeId({ case: "prefix", value: "gate" })], expected: ["gateway/pod-7"] },
    { what: "a suffix", matchers: [nodeId({ case: "suffix", value: "-1" })], expected: ["Billing/pod-1"] },
    { what: "a part", matchers: [nodeId({ case: "contains", value: "/pod" })], expected: BOTH },
    {
      what: "an expression",
      matchers: [nodeId({ case: "safeRegex", value: { regex: "[a-z]+/pod-\\d" } })],
      expected: ["gateway/pod-7"],
    },
    {
      what: "an expression in the syntax of RE2",
      matchers: [nodeId({ case: "safeRegex", value: { regex: "(?i)GATEWAY/\\Qpod-7\\E" } })],
      expected: ["gateway/pod-7"],
    },
    {
      what: "an expression that matches a part only",
      matchers: [nodeId({ case: "safeRegex", value: { regex: "pod" } })],
      expected: [],
    },
    {
      what: "two alternatives",
      matchers: [nodeId({ case: "suffix", value: "-1" }), nodeId({ case: "suffix", value: "-7" })],
      expected: BOTH,
    },
    {
      what: "metadata",
      matchers: [
        metadata("fleet", { case: "stringMatch", value: { matchPattern: { case: "exact", value: "billing" } } }),
      ],
      expected: ["Billing/pod-1"],
    },
    {
      what: "metadata that is there",
      matchers: [metadata("namespace", { case: "presentMatch", value: true })],
      expected: ["gateway/pod-7"],
    },
    {
      what: "metadata that is not there",
      matchers: [metadata("namespace", { case: "presentMatch", value: false })],
      expected: ["Billing/pod-1"],
    },
    {
      what: "metadata that is a number",
      matchers: [metadata("fleet", { case: "boolMatch", value: true })],
      expected: [],
    },
    {
      what: "one of several values",
      matchers: [
        metadata("fleet", { case: "orMatch", value: { valueMatchers: [equals("silver"), equals("billing")] } }),
      ],
      expected: ["Billing/pod-1"],
    },
    {
      what: "metadata that every object has",
      matchers: [metadata("constructor", { case: "presentMatch", value: true })],
      expected: [],
    },
    {
      what: "metadata below a text",
      matchers: [
        {
          nodeMetadatas: [
            { path: [step("fleet"), step("name")], value: { matchPattern: { case: "presentMatch", value: true } } },
          ],
        },
      ],
      expected: [],
    },
    {
      what: "as many matchers as are allowed",
      matchers: Array.from({ length: 100 }, () => nodeId({ case: "suffix", value: "-1" })),
      expected: ["Billing/pod-1"],
    },
    {
      what: "an expression as long as is allowed",
      matchers: [nodeId({ case: "safeRegex", value: { regex: `gateway/pod-7|${"x".repeat(986)}` } })],
      expected: ["gateway/pod-7"],
    },
    {
      what: "id and metadata that do not hold together",
      matchers: [
        {
          ...nodeId({ case: "suffix", value: "-7" }),
          ...metadata("fleet", { case: "stringMatch", value: { matchPattern: { case: "exact", value: "billing" } } }),
        },
      ],
      expected: [],
    },
  ] as readonly { what: string; matchers: readonly Matcher[]; expected: readonly string[] }[])(
    "selects by $what",
    ({ matchers, expected }) => {
      expect(selected(...matchers)).toEqual(expected);
    },
  );

  it.each([
    {
      matcher: nodeId({ case: "safeRegex", value: { regex: "(" } }),
      message: 'Cannot select clients: "(" is no regular expression',
    },
    { matcher: nodeId(undefined), message: "Cannot select clients: a string matcher is empty" },
    { matcher: metadata("fleet", { case: undefined }), message: "Cannot select clients: a value matcher is empty" },
    { matcher: { nodeMetadatas: [{ value: {} }] }, message: "Cannot select clients: a metadata matcher has no path" },
    {
      matcher: { nodeMetadatas: [{ path: [step("fleet")] }] },
      message: "Cannot select clients: a metadata matcher has no value",
    },
    {
      matcher: {
        nodeMetadatas: [{ path: [{}], value: { matchPattern: { case: "presentMatch" as const, value: true } } }],
      },
      message: "Cannot select clients: a step of a metadata path has no key",
    },
    {
      matcher: nodeId({ case: "safeRegex", value: { regex: "x".repeat(1001) } }),
      message: "Cannot select clients: an expression is longer than 1000 characters",
    },
    {
      matcher: metadata("fleet", nested(17)),
      message: "Cannot select clients: value matchers are nested deeper than 16",
    },
  ])("refuses with $message", ({ matcher, message }) => {
    expect(() => selected(matcher)).toThrow(expect.objectContaining({ code: "CLIENT_STATUS_REFUSED", message }));
  });

  it("matches values that are nested as deep as is allowed", () => {
    expect(selected(metadata("fleet", nested(16)))).toEqual(["Billing/pod-1"]);
  });

  it("refuses more matchers than anybody needs", () => {
    const matchers = Array.from({ length: 101 }, () => nodeId({ case: "suffix", value: "-1" }));
    expect(() => selected(...matchers)).toThrow(
      "Cannot select clients: there are 101 node matchers, at most 100 are allowed",
    );
  });

  it("bounds the time of all expressions of a request together, and begins anew with the next", () => {
    let nowMs = 0;
    // Every match takes 60 ms.
    const clock = vi.spyOn(performance, "now").mockImplementation(() => (nowMs += 60));
    try {
      const matcher = nodeId({ case: "safeRegex", value: { regex: "nobody" } });
      const pods = (count: number): readonly ReturnType<typeof podOf>[] =>
        Array.from({ length: count }, () => podOf({}));
      for (let request = 0; request < 2; request += 1) expect(ask(pods(4), [matcher]).config).toEqual([]);
      expect(() => ask(pods(5), [matcher])).toThrow("Cannot select clients: their expressions take longer than 250 ms");
    } finally {
      clock.mockRestore();
    }
  });

  it("matches in linear time an expression that would take other engines indefinitely", () => {
    const pods = [podOf({ nodeId: `${"a".repeat(60)}!` }), podOf({ nodeId: "a".repeat(60) })];
    const evil = nodeId({ case: "safeRegex", value: { regex: "(a+)+" } });
    expect(ask(pods, [evil]).config.map(({ node }) => node?.id)).toEqual(["a".repeat(60)]);
  });

  it("refuses an expression of which one match takes seconds", () => {
    const regex = "((\\pL?){30}){30}".repeat(2);
    expect(() => selected(nodeId({ case: "safeRegex", value: { regex } }))).toThrow(
      `${JSON.stringify(regex)} repeats too much: it has more than 2000 instructions`,
    );
  });

  it.each(["(?=a)a", "(a)\\1", "a{1001}"])("refuses %s, which RE2 does not take", (regex) => {
    expect(() => selected(nodeId({ case: "safeRegex", value: { regex } }))).toThrow(
      `Cannot select clients: ${JSON.stringify(regex)} is no regular expression`,
    );
  });
});
