import { callerGroup } from "@weir/common/callers/caller-group";
import { describe, expect, it } from "vitest";
import { addressCheck, type LimitCheck, type LimitEntry, type LimitKey } from "./limits.ts";
import { LocalLimiter } from "./local-limiter.ts";

/** Ten seconds into a minute, an hour and a day. */
const START_MS = Date.UTC(2026, 0, 1, 0, 0, 10);

/** A limiter with a clock that the test moves. */
class LimiterFixture {
  nowMs = START_MS;
  readonly limiter: LocalLimiter;

  constructor(options: { readonly valuesMax?: number } = {}) {
    this.limiter = new LocalLimiter({ clock: () => this.nowMs }, options);
  }

  /** How many of so many equal requests are allowed. */
  allowedOf(requests: number, check: LimitCheck): number {
    return Array.from({ length: requests }, () => this.limiter.decide(check)).filter(({ isAllowed }) => isAllowed)
      .length;
  }
}

function login(...entries: readonly (readonly [LimitKey, string])[]): LimitCheck {
  return { route: "login", group: callerGroup(), entries: entries.map(([key, value]): LimitEntry => ({ key, value })) };
}

describe("LocalLimiter", () => {
  it.each([
    { check: addressCheck("login", callerGroup("203.0.113.7")), allowed: 20, key: "ip", retryAfterSeconds: 50 },
    { check: addressCheck("register", callerGroup("203.0.113.7")), allowed: 5, key: "ip", retryAfterSeconds: 50 },
    { check: addressCheck("refresh", callerGroup("203.0.113.7")), allowed: 60, key: "ip", retryAfterSeconds: 50 },
    { check: login(["account_ip", "x"]), allowed: 5, key: "account_ip", retryAfterSeconds: 50 },
    { check: login(["account", "x"]), allowed: 100, key: "account", retryAfterSeconds: 3590 },
    { check: login(["device", "x"]), allowed: 100, key: "device", retryAfterSeconds: 3590 },
  ])("allows $allowed of $check.route by $key", ({ check, allowed, key, retryAfterSeconds }) => {
    const fixture = new LimiterFixture();
    expect(fixture.allowedOf(allowed + 10, check)).toBe(allowed);
    expect(fixture.limiter.decide(check)).toEqual({ isAllowed: false, key, retryAfterSeconds, headers: [] });
  });

  it("allows 50 registrations of an address a day", () => {
    const fixture = new LimiterFixture();
    const check = addressCheck("register", callerGroup("203.0.113.7"));
    for (let minute = 0; minute < 10; minute++) {
      expect(fixture.allowedOf(6, check)).toBe(5);
      fixture.nowMs += 60_000;
    }
    expect(fixture.limiter.decide(check)).toMatchObject({ isAllowed: false, key: "ip_day", retryAfterSeconds: 85_790 });
    fixture.nowMs += 86_400_000;
    expect(fixture.limiter.decide(check)).toMatchObject({ isAllowed: true });
  });

  it("allows the next request when the window has ended", () => {
    const fixture = new LimiterFixture();
    const check = login(["account_ip", "x"]);
    fixture.allowedOf(5, check);
    fixture.nowMs = START_MS + 49_999;
    expect(fixture.limiter.decide(check)).toMatchObject({ isAllowed: false, retryAfterSeconds: 1 });
    fixture.nowMs = START_MS + 50_000;
    expect(fixture.allowedOf(6, check)).toBe(5);
  });

  it("counts values, keys and routes apart", () => {
    const fixture = new LimiterFixture();
    expect(fixture.allowedOf(6, login(["account_ip", "x"]))).toBe(5);
    expect(fixture.allowedOf(6, login(["account_ip", "y"]))).toBe(5);
    expect(fixture.allowedOf(1, login(["account", "x"]))).toBe(1);
    expect(fixture.allowedOf(21, addressCheck("login", callerGroup("a")))).toBe(20);
    expect(fixture.allowedOf(1, addressCheck("refresh", callerGroup("a")))).toBe(1);
  });

  it("counts nothing of a request that it refuses", () => {
    const fixture = new LimiterFixture();
    const attack = login(["account_ip", "owner at another address"], ["account", "owner"]);
    expect(fixture.allowedOf(1000, attack)).toBe(5);
    expect(fixture.allowedOf(1000, login(["account", "owner"]))).toBe(95);
  });

  it("does not reset a value that has used its limit up when many others follow", () => {
    const fixture = new LimiterFixture({ valuesMax: 100 });
    const victim = login(["account", "owner"]);
    expect(fixture.allowedOf(101, victim)).toBe(100);
    for (let other = 0; other < 1000; other++) fixture.allowedOf(1, login(["account", `other ${other}`]));
    expect(fixture.allowedOf(1, victim)).toBe(0);
  });

  it("forgets the value that was counted first when there are too many with as many requests", () => {
    const fixture = new LimiterFixture({ valuesMax: 3 });
    const [a, b, c, d] = ["a", "b", "c", "d"].map((value) => login(["account_ip", value]));
    for (const check of [a, b, c]) fixture.allowedOf(5, check!);
    expect(fixture.allowedOf(6, d!)).toBe(5);
    expect([b, c, d].map((check) => fixture.allowedOf(1, check!))).toEqual([0, 0, 0]);
    expect(fixture.allowedOf(1, a!)).toBe(1);
  });

  it("keeps values of the present window when earlier ones must go", () => {
    const fixture = new LimiterFixture({ valuesMax: 2 });
    const [a, b, c] = ["a", "b", "c"].map((value) => login(["account_ip", value]));
    fixture.allowedOf(5, a!);
    fixture.nowMs += 60_000;
    fixture.allowedOf(5, b!);
    fixture.allowedOf(5, c!);
    expect([b, c].map((check) => fixture.allowedOf(1, check!))).toEqual([0, 0]);
  });
});
