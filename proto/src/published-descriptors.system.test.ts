// Compares our contracts with those that Envoy and gRPC publish as Go modules (proto/oracle/envoy-descriptors): the
// descriptors, and messages that go from ours to theirs and back. Fields that no published module carries are in unpublished-fields.test.ts.
import { execFileSync, spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

import { create, createFileRegistry, equals, fromBinary, fromJson, toBinary, toJson } from "@bufbuild/protobuf";
import type { DescField, DescFile, DescMessage, FileRegistry, JsonValue, Message } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";

import { file_envoy_service_discovery_v3_ads } from "./generated/envoy/service/discovery/v3/ads_pb.ts";
import {
  DeltaDiscoveryRequestSchema,
  DeltaDiscoveryResponseSchema,
} from "./generated/envoy/service/discovery/v3/discovery_pb.ts";
import {
  DiscoveryRequestSchema,
  DiscoveryResponseSchema,
} from "./generated/envoy/service/discovery/v3/discovery_pb.ts";
import {
  file_envoy_service_ratelimit_v3_rls,
  RateLimitRequestSchema,
} from "./generated/envoy/service/ratelimit/v3/rls_pb.ts";
import { RateLimitResponseSchema } from "./generated/envoy/service/ratelimit/v3/rls_pb.ts";
import { file_grpc_health_v1_health, HealthCheckResponseSchema } from "./generated/grpc/health/v1/health_pb.ts";
import { file_grpc_reflection_v1_reflection } from "./generated/grpc/reflection/v1/reflection_pb.ts";
import { file_grpc_reflection_v1alpha_reflection } from "./generated/grpc/reflection/v1alpha/reflection_pb.ts";
import { RateLimitConfigSchema } from "./generated/ratelimit/config/ratelimit/v3/rls_conf_pb.ts";
import { file_ratelimit_service_ratelimit_v3_rls_conf_ds } from "./generated/ratelimit/service/ratelimit/v3/rls_conf_ds_pb.ts";
import { randomMessage } from "./random-message.suite.ts";

const BUILD_SCRIPT = fileURLToPath(new URL("../../tools/build-oracle.sh", import.meta.url));
const ORACLE = fileURLToPath(new URL("../oracle/envoy-descriptors", import.meta.url));

/** Exit code of the build script when there is no Go. */
const EXIT_NO_GO = 3;

/**
 * Longest time that Go may take to download and build the oracle the first time, in milliseconds.
 */
const BUILD_TIMEOUT_MS = 300_000;

/** Most bytes of the published descriptors. */
const DESCRIPTORS_MAX_BYTES = 16 * 1024 * 1024;

/** Every file of ours that has a published counterpart. */
const OURS = withImports([
  file_envoy_service_ratelimit_v3_rls,
  file_envoy_service_discovery_v3_ads,
  file_grpc_health_v1_health,
  file_grpc_reflection_v1_reflection,
  file_grpc_reflection_v1alpha_reflection,
  RateLimitConfigSchema.file,
  file_ratelimit_service_ratelimit_v3_rls_conf_ds,
]);

/**
 * Units and fields that ours have and the published ones lack: those that envoyproxy/ratelimit knows
 * and the modules do not yet, and our own.
 */
const ONLY_OURS = [
  "enum envoy.type.v3.RateLimitUnit.WEEK = 7",
  "enum ratelimit.config.ratelimit.v3.RateLimitUnit.EXTENDED = 100",
  "enum ratelimit.config.ratelimit.v3.RateLimitUnit.MONTH = 5",
  "enum ratelimit.config.ratelimit.v3.RateLimitUnit.WEEK = 7",
  "enum ratelimit.config.ratelimit.v3.RateLimitUnit.YEAR = 6",
  "field ratelimit.config.ratelimit.v3.RateLimitDescriptor.metadata = 8: google.protobuf.Struct",
  "field ratelimit.config.ratelimit.v3.RateLimitDescriptor.quota_mode = 7: BOOL",
  "field ratelimit.config.ratelimit.v3.RateLimitDescriptor.rate_limits = 1003: repeated ratelimit.config.ratelimit.v3.RateLimitPolicy",
  "field ratelimit.config.ratelimit.v3.RateLimitDescriptor.share_threshold = 1002: BOOL",
  "field ratelimit.config.ratelimit.v3.RateLimitDescriptor.show_values = 1004: BOOL",
  "field ratelimit.config.ratelimit.v3.RateLimitDescriptor.value_to_metric = 1001: BOOL",
  "field ratelimit.config.ratelimit.v3.RateLimitPolicy.algorithm = 1003: STRING",
  "field ratelimit.config.ratelimit.v3.RateLimitPolicy.burst = 1004: UINT32",
  "field ratelimit.config.ratelimit.v3.RateLimitPolicy.count_rejected_hits = 1005: BOOL",
  "field ratelimit.config.ratelimit.v3.RateLimitPolicy.extended_unit = 1001: ratelimit.config.ratelimit.v3.RateLimitUnit",
  "field ratelimit.config.ratelimit.v3.RateLimitPolicy.month_day = 1007: UINT32",
  "field ratelimit.config.ratelimit.v3.RateLimitPolicy.time_zone = 1006: STRING",
  "field ratelimit.config.ratelimit.v3.RateLimitPolicy.unit_multiplier = 1002: UINT32",
];

/** The fields of that list, as unknown ones are named. */
const FIELDS_ONLY_OURS: ReadonlySet<string> = new Set(
  Object.entries({
    RateLimitDescriptor: [7, 8, 1001, 1002, 1003, 1004],
    RateLimitPolicy: [1001, 1002, 1003, 1004, 1005, 1006, 1007],
  }).flatMap(([name, numbers]) => numbers.map((number) => `ratelimit.config.ratelimit.v3.${name} ${number}`)),
);

/**
 * Parts of the published messages and services that ours leave out: obsolete, or nothing that this
 * project offers.
 */
const ONLY_PUBLISHED = [
  "field envoy.config.core.v3.Extension.type_descriptor = 3: STRING",
  "field envoy.config.core.v3.Node.listening_addresses = 11: repeated envoy.config.core.v3.Address",
];

describe("our descriptors, against the published ones", () => {
  let built: { readonly registry: FileRegistry } | { readonly missing: string };
  let registry: FileRegistry;

  beforeAll(() => {
    built = buildPublished();
    if ("missing" in built)
      process.stderr.write(`${built.missing}. Without it nothing compares our descriptors with the published ones.\n`);
  }, BUILD_TIMEOUT_MS);

  beforeEach((context) => {
    if ("missing" in built) context.skip(built.missing);
    else registry = built.registry;
  });

  it("have the same packages, names, numbers and types, but for what is listed here", () => {
    const ours = OURS.flatMap(linesOfFile);
    const published = new Set(OURS.flatMap((file) => linesOfCounterparts(file, registry)));
    const known = new Set(ours);
    expect(ours.filter((line) => !published.has(line)).toSorted()).toEqual(ONLY_OURS);
    expect([...published].filter((line) => !known.has(line)).toSorted()).toEqual(ONLY_PUBLISHED);
  });

  it.each<DescMessage>([
    RateLimitRequestSchema,
    RateLimitResponseSchema,
    DiscoveryRequestSchema,
    DiscoveryResponseSchema,
    DeltaDiscoveryRequestSchema,
    DeltaDiscoveryResponseSchema,
    HealthCheckResponseSchema,
    RateLimitConfigSchema,
  ])("lose nothing of a random $typeName on its way to theirs and back", (schema) => {
    const theirs = publishedMessage(registry, schema);
    fc.assert(
      fc.property(randomMessage(schema), (message) => {
        const there = fromBinary(theirs, toBinary(schema, message));
        const back = fromBinary(schema, toBinary(theirs, there));
        expect(equals(schema, back, message)).toBe(true);
        expect(unknownFields(there)).toEqual([]);
      }),
      { numRuns: 100, seed: 40 },
    );
  });

  it("read a request of Envoy with every field, in their JSON", () => {
    const json: JsonValue = {
      domain: "shop",
      descriptors: [
        {
          entries: [{ key: "user", value: "ada" }, { key: "path" }],
          limit: { requestsPerUnit: 4_294_967_295, unit: "YEAR" },
          hitsAddend: "18446744073709551615",
          isNegativeHits: true,
        },
        { entries: [{ key: "plan", value: "free" }], hitsAddend: "0" },
      ],
      hitsAddend: 7,
    };
    const theirs = publishedMessage(registry, RateLimitRequestSchema);
    const request = fromBinary(RateLimitRequestSchema, toBinary(theirs, fromJson(theirs, json)));
    expect(request.descriptors.map(({ hitsAddend }) => hitsAddend)).toEqual([18_446_744_073_709_551_615n, 0n]);
    expect(toJson(RateLimitRequestSchema, request)).toEqual(json);
  });

  it("write a response that Envoy reads, week included", () => {
    const response = create(RateLimitResponseSchema, {
      overallCode: 2,
      statuses: [
        {
          code: 2,
          currentLimit: { name: "weekly", requestsPerUnit: 10, unit: 7 },
          durationUntilReset: { seconds: 35n },
        },
        { code: 1, limitRemaining: 3 },
      ],
      responseHeadersToAdd: [{ key: "x-ratelimit-limit", value: "10" }],
      dynamicMetadata: { limitRule: "shop.user" },
    });
    const theirs = publishedMessage(registry, RateLimitResponseSchema);
    expect(toJson(theirs, fromBinary(theirs, toBinary(RateLimitResponseSchema, response)))).toEqual({
      overallCode: "OVER_LIMIT",
      statuses: [
        {
          code: "OVER_LIMIT",
          currentLimit: { name: "weekly", requestsPerUnit: 10, unit: "WEEK" },
          durationUntilReset: "35s",
        },
        { code: "OK", limitRemaining: 3 },
      ],
      responseHeadersToAdd: [{ key: "x-ratelimit-limit", value: "10" }],
      dynamicMetadata: { limitRule: "shop.user" },
    });
  });

  it("write a configuration whose own fields an older receiver keeps or skips without harm", () => {
    const config = create(RateLimitConfigSchema, {
      name: "default/shop",
      domain: "shop",
      descriptors: [
        {
          key: "k",
          value: "v*",
          rateLimit: { unit: 2, requestsPerUnit: 5 },
          valueToMetric: true,
          shareThreshold: true,
          showValues: true,
        },
      ],
    });
    const theirs = publishedMessage(registry, RateLimitConfigSchema);
    expect(toJson(theirs, fromBinary(theirs, toBinary(RateLimitConfigSchema, config)))).toEqual({
      name: "default/shop",
      domain: "shop",
      descriptors: [{ key: "k", value: "v*", rateLimit: { unit: "MINUTE", requestsPerUnit: 5 } }],
    });
  });
});

/**
 * The published descriptors, or what this machine lacks for them. With CI set, lacking something is
 * a failure.
 */
function buildPublished(): { readonly registry: FileRegistry } | { readonly missing: string } {
  const run = spawnSync("sh", [BUILD_SCRIPT, ORACLE], { encoding: "utf8", timeout: BUILD_TIMEOUT_MS });
  const missing = run.stderr.trim();
  if (run.status === EXIT_NO_GO && (process.env["CI"] ?? "") === "") return { missing };
  if (run.status !== 0) throw new Error(`${BUILD_SCRIPT} ended with ${String(run.status ?? run.signal)}: ${missing}`);
  const descriptors = execFileSync(run.stdout.trim(), { maxBuffer: DESCRIPTORS_MAX_BYTES });
  return { registry: createFileRegistry(fromBinary(FileDescriptorSetSchema, descriptors)) };
}

/** Files in the order of their imports, without Google's own. */
function withImports(roots: readonly DescFile[]): readonly DescFile[] {
  const files = new Set<DescFile>();
  const visit = (file: DescFile): void => {
    file.dependencies.forEach(visit);
    files.add(file);
  };
  roots.forEach(visit);
  return [...files].filter((file) => !file.name.startsWith("google/protobuf/"));
}

function publishedMessage(registry: FileRegistry, schema: DescMessage): DescMessage {
  const message = registry.getMessage(schema.typeName);
  if (message === undefined) throw new Error(`There is no published message ${schema.typeName}`);
  return message;
}

/** One line for each field, enum value and method of a file. */
function linesOfFile(file: DescFile): readonly string[] {
  const messages = allMessages(file);
  const enums = [...file.enums, ...messages.flatMap((message) => message.nestedEnums)];
  return [
    ...messages.flatMap(linesOfMessage),
    ...enums.flatMap((type) => type.values.map((value) => `enum ${type.typeName}.${value.name} = ${value.number}`)),
    ...file.services.flatMap(linesOfService),
  ];
}

/** The same of what is published under the names of a file; what is not published gives no line. */
function linesOfCounterparts(file: DescFile, registry: FileRegistry): readonly string[] {
  const messages = allMessages(file);
  const enums = [...file.enums, ...messages.flatMap((message) => message.nestedEnums)].map((type) =>
    registry.getEnum(type.typeName),
  );
  return [
    ...messages.flatMap((message) => linesOfMessage(publishedMessage(registry, message))),
    ...enums.flatMap((type) =>
      (type?.values ?? []).map((value) => `enum ${value.parent.typeName}.${value.name} = ${value.number}`),
    ),
    ...file.services.flatMap((service) => linesOfService(registry.getService(service.typeName))),
  ];
}

function allMessages(scope: { readonly messages: readonly DescMessage[] }): readonly DescMessage[] {
  return scope.messages.flatMap((message) => [message, ...allMessages({ messages: message.nestedMessages })]);
}

function linesOfMessage(message: DescMessage): readonly string[] {
  return message.fields.map(
    (field) => `field ${message.typeName}.${field.name} = ${field.number}: ${typeOfField(field)}`,
  );
}

function linesOfService(service: DescFile["services"][number] | undefined): readonly string[] {
  return (service?.methods ?? []).map(
    (method) =>
      `rpc ${method.parent.typeName}.${method.name}: ${method.methodKind} ${method.input.typeName}, ${method.output.typeName}`,
  );
}

function typeOfField(field: DescField): string {
  const type = field.message?.typeName ?? field.enum?.typeName ?? scalarName(field);
  if (field.fieldKind === "list") return `repeated ${type}`;
  if (field.fieldKind === "map") return `map from ${String(field.mapKey)} to ${type}`;
  return field.oneof === undefined ? type : `oneof ${field.oneof.name} ${type}`;
}

function scalarName(field: DescField): string {
  const names: Readonly<Record<number, string>> = {
    1: "DOUBLE",
    3: "INT64",
    5: "INT32",
    8: "BOOL",
    9: "STRING",
    12: "BYTES",
    13: "UINT32",
  };
  return names[field.scalar ?? 0] ?? `scalar ${String(field.scalar)}`;
}

/**
 * Fields anywhere in a message of theirs that they did not know, but for those that are only ours.
 */
function unknownFields(value: unknown): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  const { $typeName, $unknown } = value as Partial<Message>;
  const own = ($unknown ?? []).map(({ no }) => `${String($typeName)} ${no}`);
  return [...own, ...Object.values(value).flatMap(unknownFields)].filter((field) => !FIELDS_ONLY_OURS.has(field));
}
