// Tests of checkAds() against a real server: what it loads, and why it does not.
import { rateLimitConfig, ScriptedAdsServer } from "@weir/harness/ads/ads-server";
import { RateLimitUnit } from "@weir/proto/generated/ratelimit/config/ratelimit/v3/rls_conf_pb";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { RecordingListener } from "../config-source.suite.ts";
import { type AdsCheck, checkAds } from "./ads-check.ts";

/** Time of a check that must fail, in milliseconds: longer than a connection takes on a busy machine. */
const SHORT_MS = 3000;

/** Time of a check that must not fail, in milliseconds. */
const LONG_MS = 60_000;

describe("checkAds()", () => {
  let server: ScriptedAdsServer;
  let listener: RecordingListener;
  let failures: string[];

  beforeEach(async () => {
    server = new ScriptedAdsServer();
    await server.open();
    listener = new RecordingListener();
    failures = [];
  });

  afterEach(() => {
    server.close();
    expect(server.violations).toEqual([]);
  });

  function check(timeoutMs: number): Promise<AdsCheck> {
    return checkUntil(AbortSignal.timeout(timeoutMs));
  }

  async function checkUntil(end: AbortSignal): Promise<AdsCheck> {
    const options = {
      isIncremental: false,
      serverUrl: `127.0.0.1:${server.port}`,
      nodeId: "check",
      nodeMetadata: new Map([["fleet", "edge"]]),
      headers: new Map<string, string>(),
      tls: undefined,
      messageMaxBytes: undefined,
      connectRetryMs: 5,
      backoff: { initialMs: 5, maxMs: 20, factor: 0.5, jitter: false },
    };
    const failed = (reason: string): void => void failures.push(reason);
    return await checkAds({ listener, failed }, options, end);
  }

  it("loads and ACKs the first response, as a probe of the fleet", async () => {
    server.publish("v1", [rateLimitConfig("a"), rateLimitConfig("b")]);
    expect(await check(LONG_MS)).toEqual({ kind: "loaded", version: "v1", names: ["resource-a", "resource-b"] });
    expect(server.received).toEqual([
      { kind: "subscribed", version: "" },
      { kind: "ACK", version: "v1" },
    ]);
    expect(server.node?.metadata).toEqual({ fleet: "edge", probe: "true" });
    expect([listener.domains(), failures]).toEqual([["a", "b"], []]);
  });

  it("loads a response without resources", async () => {
    server.publish("v0", []);
    expect(await check(LONG_MS)).toEqual({ kind: "loaded", version: "v0", names: [] });
  });

  it("NACKs what cannot be loaded, and ends with the reason", async () => {
    server.publish("v1", [rateLimitConfig("a", { unit: RateLimitUnit.UNKNOWN })]);
    const result = await check(LONG_MS);
    const [reason] = listener.errors;
    expect(result).toEqual({ kind: "failed", reason: `the response cannot be loaded: ${reason}` });
    expect(server.received.at(-1)).toEqual({ kind: "NACK", version: "v1", keeps: "", reason });
  });

  it("names why there is no connection when the time is over", async () => {
    server.close();
    expect(await check(SHORT_MS)).toEqual({
      kind: "failed",
      reason: expect.stringContaining("ECONNREFUSED") as string,
    });
    expect(failures.length).toBeGreaterThan(0);
  });

  it("says that the server has sent nothing when the time is over", async () => {
    expect(await check(SHORT_MS)).toEqual({ kind: "failed", reason: "the configuration server has sent nothing" });
    expect(server.received).toEqual([{ kind: "subscribed", version: "" }]);
  });

  it("says that the server has sent nothing when only an earlier attempt found no server", async () => {
    server.close();
    const end = new AbortController();
    const result = checkUntil(end.signal);
    await expect.poll(() => failures.length, { timeout: LONG_MS }).toBeGreaterThan(0);
    await server.open();
    await expect.poll(() => server.received.length, { timeout: LONG_MS }).toBeGreaterThan(0);
    end.abort();
    expect(await result).toEqual({ kind: "failed", reason: "the configuration server has sent nothing" });
  });

  it("tries again until the server can be reached", async () => {
    server.publish("v1", []);
    server.close();
    const result = check(LONG_MS);
    await expect.poll(() => failures.length, { timeout: LONG_MS }).toBeGreaterThan(0);
    await server.open();
    expect(await result).toMatchObject({ kind: "loaded", version: "v1" });
  });
});
