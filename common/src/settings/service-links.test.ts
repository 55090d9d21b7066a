import { describe, expect, it } from "vitest";

import { isServiceLinkName, withoutServiceLinks } from "./service-links.ts";

describe("withoutServiceLinks()", () => {
  it("withoutServiceLinks() drops what Kubernetes sets for a service, and keeps settings", () => {
    const env = {
      STATSD_PORT: "tcp://10.0.0.7:8125",
      GRPC_PORT: "udp://[fd00::7]:8081",
      REDIS_PORT_6379_TCP: "tcp://10.0.0.8:6379",
      DEBUG_PORT: "6070",
      REDIS_URL: "tcp://10.0.0.8:6379",
      PORT: undefined,
    };
    expect(withoutServiceLinks(env)).toEqual({ DEBUG_PORT: "6070", REDIS_URL: "tcp://10.0.0.8:6379", PORT: undefined });
  });

  it.each([
    { name: "REDIS_PORT", isLink: true },
    { name: "REDIS_SERVICE_HOST", isLink: true },
    { name: "REDIS_SERVICE_PORT", isLink: true },
    { name: "REDIS_SERVICE_PORT_TCP_REDIS", isLink: true },
    { name: "REDIS_PORT_6379_TCP_ADDR", isLink: true },
    { name: "PORT", isLink: false },
    { name: "REDIS_PORTS", isLink: false },
    { name: "REDIS_URL", isLink: false },
  ])("isServiceLinkName() is $isLink for $name", ({ name, isLink }) => {
    expect(isServiceLinkName(name)).toBe(isLink);
  });
});
