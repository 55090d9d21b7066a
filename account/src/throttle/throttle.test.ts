import { callerGroup } from "@weir/common/callers/caller-group";
import { createLog } from "@weir/common/log/log";
import { describe, expect, it } from "vitest";
import { CircuitBreaker } from "@weir/common/backoff/circuit-breaker";
import { addressCheck, type LimitDecision } from "./limits.ts";
import { LocalLimiter } from "./local-limiter.ts";
import type { RateLimitAnswer } from "./rate-limit-client.ts";
import { RateLimitError } from "./rate-limit-error.ts";
import { type FailureMode, Throttle } from "./throttle.ts";

const CHECK = addressCheck("register", callerGroup("203.0.113.7"));
const ALLOWED: LimitDecision = { isAllowed: true, headers: [["ratelimit-remaining", "4"]] };
const DENIED: LimitDecision = { isAllowed: false, key: "ip", retryAfterSeconds: 42, headers: [] };

/** A throttle over a service whose answers the test gives. */
class ThrottleFixture {
  nowMs = Date.UTC(2026, 0, 1);
  answer: RateLimitAnswer | Error = { decision: ALLOWED, unknownKeys: [] };
  asked = 0;
  connected = 0;
  readonly lines: Record<string, unknown>[] = [];
  readonly events: string[] = [];
  readonly throttle: Throttle;

  constructor(failure: FailureMode, { hasService = true } = {}) {
    const nowMs = (): number => this.nowMs;
    const client = {
      ask: () => {
        this.asked += 1;
        return this.answer instanceof Error ? Promise.reject(this.answer) : Promise.resolve(this.answer);
      },
      connect: () => void (this.connected += 1),
    };
    this.throttle = new Throttle(
      {
        service: hasService
          ? {
              client: () => client,
              breaker: new CircuitBreaker({ monotonicMs: nowMs }, { failuresMax: 3, openMs: 5000 }),
            }
          : undefined,
        local: new LocalLimiter({ clock: nowMs }),
        events: {
          decided: (route, by, isAllowed) => this.events.push(`${route} ${by} ${isAllowed ? "allowed" : "denied"}`),
          failed: (reason) => this.events.push(reason),
        },
        log: createLog({
          level: "info",
          format: "json",
          write: (line) => this.lines.push(JSON.parse(line) as Record<string, unknown>),
        }),
        monotonicMs: nowMs,
      },
      { failure },
    );
  }

  messages(): unknown[] {
    return this.lines.map((line) => line["@message"] ?? line["message"]);
  }
}

describe("Throttle", () => {
  it.each([ALLOWED, DENIED])("gives the decision of the service", async (decision) => {
    const fixture = new ThrottleFixture("local");
    fixture.answer = { decision, unknownKeys: [] };
    expect(await fixture.throttle.decide(CHECK)).toEqual(decision);
    expect(fixture.events).toEqual([`register service ${decision.isAllowed ? "allowed" : "denied"}`]);
  });

  it("local: applies its own limits without an answer", async () => {
    const fixture = new ThrottleFixture("local");
    fixture.answer = new RateLimitError("deadline", "late");
    const decisions = [];
    for (let request = 0; request < 6; request++) decisions.push(await fixture.throttle.decide(CHECK));
    expect(decisions.map(({ isAllowed }) => isAllowed)).toEqual([true, true, true, true, true, false]);
    expect(fixture.events.filter((event) => event === "deadline")).toHaveLength(3); // Then it no longer asks.
    expect(fixture.events.at(-1)).toBe("register local denied");
  });

  it("open: allows everything without an answer", async () => {
    const fixture = new ThrottleFixture("open");
    fixture.answer = new RateLimitError("unavailable", "refused");
    for (let request = 0; request < 10; request++)
      expect(await fixture.throttle.decide(CHECK)).toEqual({ isAllowed: true, headers: [] });
    expect(fixture.events.at(-1)).toBe("register failure_mode allowed");
  });

  it("closed: refuses everything without an answer, to be tried again", async () => {
    const fixture = new ThrottleFixture("closed");
    fixture.answer = new RateLimitError("error", "13 INTERNAL");
    await expect(fixture.throttle.decide(CHECK)).rejects.toMatchObject({
      code: "rate_limit_unavailable",
      transient: true,
      details: { retryAfterSeconds: 5 },
    });
    expect(fixture.events).toEqual(["error", "register failure_mode denied"]);
  });

  it("decides alone without a service", async () => {
    const fixture = new ThrottleFixture("local", { hasService: false });
    expect(await fixture.throttle.decide(CHECK)).toMatchObject({ isAllowed: true });
    expect([fixture.asked, fixture.events]).toEqual([0, ["register local allowed"]]);
  });

  it("asks a service that fails once in five seconds, over a new connection each time", async () => {
    const fixture = new ThrottleFixture("open");
    fixture.answer = new RateLimitError("deadline", "late");
    for (let request = 0; request < 10; request++) await fixture.throttle.decide(CHECK);
    expect([fixture.asked, fixture.connected]).toEqual([3, 1]);
    fixture.nowMs += 5000;
    for (let request = 0; request < 10; request++) await fixture.throttle.decide(CHECK);
    expect([fixture.asked, fixture.connected]).toEqual([4, 2]);
    fixture.nowMs += 5000;
    fixture.answer = { decision: ALLOWED, unknownKeys: [] };
    for (let request = 0; request < 10; request++) await fixture.throttle.decide(CHECK);
    expect([fixture.asked, fixture.connected]).toEqual([14, 2]);
  });

  it("logs the failure once, and its end", async () => {
    const fixture = new ThrottleFixture("open");
    fixture.answer = new RateLimitError("deadline", "late");
    for (let request = 0; request < 10; request++) await fixture.throttle.decide(CHECK);
    fixture.nowMs += 5000;
    fixture.answer = { decision: ALLOWED, unknownKeys: [] };
    for (let request = 0; request < 3; request++) await fixture.throttle.decide(CHECK);
    expect(fixture.messages()).toEqual([
      "The rate limit service does not decide",
      "The rate limit service decides again",
    ]);
  });

  it("asks again after an unexpected error", async () => {
    const fixture = new ThrottleFixture("local");
    fixture.answer = new TypeError("a fault");
    for (let request = 0; request < 3; request++) await fixture.throttle.decide(CHECK);
    fixture.nowMs += 5000;
    fixture.answer = { decision: DENIED, unknownKeys: [] };
    expect(await fixture.throttle.decide(CHECK)).toEqual(DENIED);
  });

  it("local: applies its own limit to a descriptor without one, next to the answer of the service", async () => {
    const fixture = new ThrottleFixture("local");
    fixture.answer = { decision: ALLOWED, unknownKeys: ["ip_day"] };
    const decisions = [];
    for (let request = 0; request < 51; request++) decisions.push(await fixture.throttle.decide(CHECK));
    expect(decisions.filter(({ isAllowed }) => isAllowed)).toHaveLength(50);
    expect(decisions.at(-1)).toMatchObject({ key: "ip_day", headers: ALLOWED.headers });
    expect(fixture.events.at(-1)).toBe("register local denied");
  });

  it("local: keeps a refusal of the service that lacks other limits", async () => {
    const fixture = new ThrottleFixture("local");
    fixture.answer = { decision: DENIED, unknownKeys: ["ip_day"] };
    expect(await fixture.throttle.decide(CHECK)).toEqual(DENIED);
    expect(fixture.events).toEqual(["register service denied"]);
  });

  it("closed: refuses a descriptor without a limit", async () => {
    const fixture = new ThrottleFixture("closed");
    fixture.answer = { decision: ALLOWED, unknownKeys: ["ip_day"] };
    await expect(fixture.throttle.decide(CHECK)).rejects.toMatchObject({ code: "rate_limit_unavailable" });
  });

  it("open: allows a descriptor without a limit", async () => {
    const fixture = new ThrottleFixture("open");
    fixture.answer = { decision: ALLOWED, unknownKeys: ["ip", "ip_day"] };
    for (let request = 0; request < 10; request++)
      expect(await fixture.throttle.decide(CHECK)).toEqual({ isAllowed: true, headers: ALLOWED.headers });
  });

  it("warns of descriptors for which the service has no limit", async () => {
    const fixture = new ThrottleFixture("local");
    fixture.answer = { decision: ALLOWED, unknownKeys: ["ip_day"] };
    for (let request = 0; request < 3; request++) await fixture.throttle.decide(CHECK);
    expect(fixture.messages()).toEqual(["The rate limit service has no limit for a descriptor"]);
    expect(JSON.stringify(fixture.lines)).toContain("ip_day");
  });

  it("logs many refusals of one kind as one line, with the address", async () => {
    const fixture = new ThrottleFixture("local");
    fixture.answer = { decision: DENIED, unknownKeys: [] };
    for (let request = 0; request < 100; request++) await fixture.throttle.decide(CHECK);
    expect(fixture.messages()).toEqual(["Request over its limit"]);
    expect(JSON.stringify(fixture.lines)).toContain("203.0.113.7");
  });
});
