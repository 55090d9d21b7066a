// The built-in mapping: the unit of response times, and the metrics of statistics that have no entry
// of their own.
import { describe, expect, it } from "vitest";

import { createDefaultMapping } from "./default-mapping.ts";
import { mapName } from "./mapping.ts";

describe("createDefaultMapping()", () => {
  const mapping = createDefaultMapping({ isMilliseconds: false });

  it.each([
    { name: "ratelimit.redis_pool.cx_total", family: "ratelimit_redis_pool_cx_total", labels: [], scale: 1 },
    {
      name: "ratelimit.redis_pool.cx_local_close",
      family: "ratelimit_redis_pool_cx_local_close_total",
      labels: [],
      scale: 1,
    },
    {
      name: "ratelimit.service.backend_failure.deny",
      family: "ratelimit_service_backend_failure_total",
      labels: [["mode", "deny"]],
      scale: 1,
    },
    {
      name: "ratelimit.service.unsupported_field.unit_multiplier",
      family: "ratelimit_service_unsupported_field_total",
      labels: [["field", "unit_multiplier"]],
      scale: 1,
    },
    {
      name: "ratelimit.memcache.add.__code=not_stored",
      family: "ratelimit_memcache_add_total",
      labels: [["code", "not_stored"]],
      scale: 1,
    },
    { name: "ratelimit.node.cpu_milliseconds", family: "ratelimit_node_cpu_seconds_total", labels: [], scale: 0.001 },
    {
      name: "ratelimit.service.global_shadow_mode",
      family: "ratelimit_service_global_shadow_mode",
      labels: [],
      scale: 1,
    },
    { name: "runtime.load_failures", family: "runtime_load_failures_total", labels: [], scale: 1 },
    { name: "anything.else", family: "anything_else_total", labels: [], scale: 1 },
    {
      name: "ratelimit.service.rate_limit.d.k_a=b.over_limit_with_local_cache",
      family: "ratelimit_service_rate_limit_over_limit_with_local_cache_total",
      labels: [
        ["domain", "d"],
        ["key1", "k_a=b"],
      ],
      scale: 1,
    },
  ])("createDefaultMapping() shows the counter $name as $family", ({ name, family, labels, scale }) => {
    expect(mapName(mapping, name, "counter")).toMatchObject({ family, labels, scale });
  });

  it.each([
    { name: "ratelimit.localcache.entryCount", family: "ratelimit_localcache_entries" },
    { name: "ratelimit.redis_pool.cx_active", family: "ratelimit_redis_pool_cx_active" },
    { name: "ratelimit.node.event_loop_utilization_ratio", family: "ratelimit_node_event_loop_utilization_ratio" },
  ])("createDefaultMapping() shows the gauge $name as $family", ({ name, family }) => {
    expect(mapName(mapping, name, "gauge")).toMatchObject({ family, labels: [] });
  });

  it.each([
    { isMilliseconds: false, scale: 0.001 },
    { isMilliseconds: true, scale: 1 },
  ])("createDefaultMapping() multiplies response times by $scale when isMilliseconds is $isMilliseconds", (each) => {
    const found = mapName(createDefaultMapping(each), "ratelimit_server.Check.response_time", "timer");
    expect(found).toMatchObject({
      family: "ratelimit_service_response_time_seconds",
      labels: [["grpc_method", "Check"]],
      timer: { kind: "histogram", scale: each.scale },
    });
  });
});
