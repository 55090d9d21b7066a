// The schema of what the pods of a RateLimitService do with requests, and report: each field is one
// or a few settings of the data plane.
import * as z from "zod";

import type { CelRule } from "../../schema/cel-rules.ts";
import { flag, text } from "../../schema/fields.ts";
import { count, duration, host, labels, named, port } from "./service-fields.ts";

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const HEADER_NAME_LENGTH_MAX = 128;
const TAGS_MAX = 32;
const TAG_LENGTH_MAX = 200;
const URL_LENGTH_MAX = 1024;
const DYNAMIC_KEYS_MAX = 100_000_000;

const headerName = (description: string, example: string) =>
  text(HEADER_NAME_LENGTH_MAX)
    .min(1, { abort: true })
    .regex(HEADER_NAME, "must be the name of a header, such as RateLimit-Limit")
    .optional()
    .meta({ description, example });

/** Fields of the spec about requests and reports. */
export const behaviorFields = {
  failureMode: z
    .enum(["error", "allow", "deny"])
    .optional()
    .describe(
      "Answer to a call when the counter store fails: error lets the proxy decide, allow lets the request pass, deny rejects it. Absent: error, with memcached allow.",
    ),
  shadowMode: flag(
    "Count, but let every request pass: for trying limits out. The statistics count what would have been rejected.",
  ),
  responseHeaders: z
    .object({
      enabled: flag("Whether answers carry the three headers; true when absent."),
      limit: headerName("Name of the header with the limit; RateLimit-Limit when absent.", "X-RateLimit-Limit"),
      remaining: headerName(
        "Name of the header with the remaining requests; RateLimit-Remaining when absent.",
        "X-RateLimit-Remaining",
      ),
      reset: headerName(
        "Name of the header with the seconds until the window ends; RateLimit-Reset when absent.",
        "X-RateLimit-Reset",
      ),
      rule: headerName(
        "Name of a header with the rule that rejected the request. Absent: no such header.",
        "X-RateLimit-Rule",
      ),
    })
    .optional()
    .describe("Headers of the answers. Absent: none."),
  statistics: z
    .object({
      tags: named(text(TAG_LENGTH_MAX).regex(/^[^,]*$/, "must not contain a comma"), {
        max: TAGS_MAX,
        description: "Tags of every statistic, by name.",
        example: { cluster: "eu-1" },
      }).optional(),
      maxDynamicKeys: count(
        [0, DYNAMIC_KEYS_MAX],
        "Most statistics of each pod that are named after values of requests; 100000 when absent.",
        20_000,
      ).optional(),
      push: z
        .object({
          format: z.enum(["statsd", "dogstatsd"]).describe("Whether the server speaks StatsD, or DogStatsD with tags."),
          host: host("Host of the server.", "statsd.monitoring"),
          port: port("Port of the server; 8125 when absent.", 8125).optional(),
          protocol: z
            .enum(["tcp", "udp"])
            .optional()
            .describe("Protocol to a StatsD server; tcp when absent. DogStatsD is always udp."),
          interval: duration("Time between two pushes; 10s when absent.", "15s").optional(),
        })
        .optional()
        .meta({
          "x-kubernetes-validations": [
            {
              rule: "self.format != 'dogstatsd' || !has(self.protocol) || self.protocol == 'udp'",
              message: "protocol must be udp or absent with the format dogstatsd",
              fieldPath: ".protocol",
              isKept: ({ format, protocol = "udp" }) => format !== "dogstatsd" || protocol === "udp",
            } satisfies CelRule<{ format: string; protocol?: string }>,
          ],
          description: "Pushes statistics to a server. Absent: they are served for scraping only.",
        }),
      podMonitor: z
        .object({
          enabled: flag("Whether there is a PodMonitor when the cluster knows that kind; true when absent."),
          labels: labels("Labels of the PodMonitor, by which a Prometheus selects it.", {
            release: "prometheus",
          }).optional(),
          interval: duration("Time between two scrapes. Absent: Prometheus decides.", "15s").optional(),
        })
        .optional()
        .describe("The PodMonitor of the Prometheus operator, for the port metrics."),
    })
    .optional()
    .describe("Statistics. Every pod serves them for scraping on its port metrics."),
  tracing: z
    .object({
      endpoint: text(URL_LENGTH_MAX)
        .regex(/^https?:\/\/[^\s/]+(\/\S*)?$/, "must be a URL such as http://collector.monitoring:4318")
        .meta({
          description: "URL of the OTLP collector, such as http://collector.monitoring:4318.",
          example: "http://collector.monitoring:4318",
        }),
      protocol: z.enum(["http", "grpc"]).optional().describe("OTLP over HTTP or gRPC; http when absent."),
      samplingPercent: count(
        [0, 100],
        "Share of the requests that are traced, in percent; 100 when absent.",
        1,
      ).optional(),
    })
    .optional()
    .describe("Traces of requests. Absent: none."),
} as const;
