// Refreshes at a time, lost answers and stolen tokens, on one record with compare-and-set.
import { createSecretKey } from "node:crypto";
import { callerGroup } from "@weir/common/callers/caller-group";
import { createLog } from "@weir/common/log/log";
import { beforeEach, describe, expect, it } from "vitest";
import { AccountError } from "../errors.ts";
import { keysOfSecrets } from "../sessions/key-ring.ts";
import { createSession, newestTokenHash, refreshTokenId } from "../sessions/session-records.ts";
import { createTokens } from "../sessions/tokens.ts";
import type { UpdateResult, UserChange, UserRecord } from "../store/user-store.ts";
import { refresh, type RefreshDeps, type Refreshed } from "./refresh.ts";
import { changeOfSessions } from "./update-user.ts";

const START_MS = 1_800_000_000_000;
const OPTIONS = {
  idleMs: 604_800_000,
  absoluteMs: 2_592_000_000,
  graceMs: 30_000,
  isRotating: true,
  accessTtlMs: 600_000,
};
const KEYS = keysOfSecrets("access-secret-of-at-least-32-bytes", "refresh-secret-of-at-least-32-byte");
const NEXT_KEYS = keysOfSecrets("other-access-secret-of-32-bytes-or", "other-refresh-secret-of-32-bytes-o");
const DEVICE = { userAgent: "curl/8", ipPrefix: "192.0.2.0/24" };

/** One user in a store that answers later, so that calls at a time interleave. */
class Store {
  user: UserRecord | undefined;
  updates = 0;
  beforeUpdate = (): void => undefined;

  async findById(id: string): Promise<UserRecord | undefined> {
    await Promise.resolve();
    return this.user?.id === id ? this.user : undefined;
  }

  async update(id: string, revision: number, change: UserChange): Promise<UpdateResult> {
    await Promise.resolve();
    this.beforeUpdate();
    if (this.user?.id !== id || this.user.revision !== revision) return "conflict";
    this.user = { ...this.user, ...change, revision: revision + 1 };
    this.updates += 1;
    return "updated";
  }
}

/** An instance of the service; several may share a store. */
class Instance {
  keys = KEYS;
  readonly logLines: string[] = [];
  readonly #store: Store;
  readonly #clock: () => number;
  readonly #name: string;

  constructor(name: string, store: Store, clock: () => number) {
    this.#name = name;
    this.#store = store;
    this.#clock = clock;
  }

  get deps(): RefreshDeps {
    return {
      store: this.#store,
      tokens: createTokens(() => this.keys, {
        issuer: "weir-account",
        accessTtlMs: OPTIONS.accessTtlMs,
        refreshMaxMs: OPTIONS.absoluteMs,
      }),
      clock: this.#clock,
      processId: this.#name,
      newId: () => "33333333-3333-4333-8333-333333333333",
      random: () => 0.5,
      labelKey: createSecretKey(Buffer.alloc(32, 3)),
    };
  }

  refresh(token: string, options = OPTIONS): Promise<Refreshed> {
    const log = createLog({ level: "debug", format: "json", write: (line) => this.logLines.push(line) });
    const cookies = {
      access: { kind: "absent" as const },
      refresh: { kind: "present" as const, value: token },
      mustAgree: false,
    };
    return refresh(this.deps, options, cookies, { device: DEVICE, group: callerGroup("192.0.2.1"), log });
  }
}

let nowMs: number;
let store: Store;
let one: Instance;
let two: Instance;
let first: string;

beforeEach(async () => {
  nowMs = START_MS;
  store = new Store();
  one = new Instance("one", store, () => nowMs);
  two = new Instance("two", store, () => nowMs);
  const limits = { ...OPTIONS, maxSessions: 10 };
  const sessions = ["other", "s"].map((id) =>
    createSession(id, refreshTokenId(KEYS.refresh.signing.key, id, 0), DEVICE, nowMs, limits),
  );
  store.user = {
    id: "u",
    email: "ada@x.com",
    emailKey: "ada@x.com",
    name: null,
    passwordHash: "hash",
    avatar: null,
    avatarKey: null,
    refreshToken: newestTokenHash(sessions),
    sessions,
    emailVerifiedAtMs: null,
    mailTokens: [],
    lockedAtMs: null,
    revision: 0,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  };
  first = await one.deps.tokens.signRefresh({
    userId: "u",
    sessionId: "s",
    tokenId: refreshTokenId(KEYS.refresh.signing.key, "s", 0),
    generation: 0,
    issuedAtSeconds: nowMs / 1000,
    expiresAtSeconds: (nowMs + OPTIONS.idleMs) / 1000,
  });
});

function generation(): number | undefined {
  return store.user?.sessions.find(({ id }) => id === "s")?.generation;
}

/** The refresh token of an answer. */
function tokenOf(result: Refreshed): string {
  if (result.refresh === undefined) throw new Error("the answer has no refresh token");
  return result.refresh.token;
}

/** The same token with other bits after the end of its signature, which base64url ignores. */
function respelled(token: string): string {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  return token.slice(0, -1) + String(alphabet[alphabet.indexOf(token.slice(-1)) ^ 1]);
}

async function codeOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
    return "ok";
  } catch (error) {
    if (error instanceof AccountError) return error.code;
    throw error;
  }
}

describe("refresh()", () => {
  it("gives a new access token and a new refresh token, and stores the hash of its id", async () => {
    const result = await one.refresh(first);
    expect(tokenOf(result)).not.toBe(first);
    expect([result.result, generation(), store.updates]).toEqual(["rotated", 1, 1]);
    expect(store.user?.refreshToken).toBe(newestTokenHash(store.user?.sessions ?? []));
    expect(result.refreshExpiresAtMs).toBe(START_MS + OPTIONS.idleMs);
    expect(result.access.expiresAtMs).toBe(START_MS + 585_000); // Half of the 5 % that chance may cut off.
  });

  it.each([
    { name: "20 at a time", count: 20, instances: () => [one] },
    { name: "50 at a time on two instances of the service", count: 50, instances: () => [one, two] },
  ])("gives $name the same new token, and rotates once", async ({ count, instances }) => {
    const all = instances();
    const calls = Array.from({ length: count }, (_, index) => (all[index % all.length] ?? one).refresh(first));
    const results = await Promise.all(calls);
    expect(new Set(results.map(tokenOf)).size).toBe(1);
    expect([generation(), store.updates]).toEqual([1, 1]);
    expect(await codeOf(two.refresh(String(results[0]?.refresh?.token)))).toBe("ok");
  });

  it("gives the same new token again when the answer was lost", async () => {
    const lost = await one.refresh(first);
    nowMs += 30_000;
    const again = await two.refresh(first);
    expect([again.result, tokenOf(again), generation()]).toEqual(["grace", tokenOf(lost), 1]);
    expect(again.access.expiresAtMs).toBe(nowMs + 585_000);
  });

  it.each([
    { name: "ahead", aheadMs: 60_000 },
    { name: "behind", aheadMs: -60_000 },
  ])("ends no session on a replica whose clock is a minute $name", async ({ aheadMs }) => {
    const other = new Instance("other", store, () => nowMs + aheadMs);
    let token = first;
    for (const [here, there] of [
      [one, other],
      [other, one],
    ] as const) {
      const lost = await here.refresh(token);
      nowMs += OPTIONS.graceMs;
      const again = await there.refresh(token);
      expect([again.result, tokenOf(again)]).toEqual(["grace", tokenOf(lost)]);
      expect((await other.deps.tokens.verifyAccess(again.access.token, nowMs)).ok).toBe(true);
      token = tokenOf(again);
    }
  });

  it("ends the session of an old token, and no other session of the user", async () => {
    const second = tokenOf(await one.refresh(first));
    nowMs += 30_001;
    expect(await codeOf(one.refresh(first))).toBe("refresh_token_reused");
    expect(await codeOf(one.refresh(second))).toBe("session_revoked");
    expect(store.user?.sessions.map(({ id }) => id)).toEqual(["other"]);
  });

  it("logs a reuse with the label of the account and the network, and nothing personal", async () => {
    await one.refresh(first);
    nowMs += 30_001;
    await codeOf(one.refresh(first));
    expect(one.logLines).toHaveLength(1);
    expect(JSON.parse(String(one.logLines[0]))).toMatchObject({
      level: "warning",
      "@message": "Refresh token reused, the session is ended",
      account: expect.stringMatching(/^[0-9a-f]{32}$/) as string,
      session: "s",
    });
    expect(one.logLines.join()).not.toContain("ada@x.com");
    expect(one.logLines.join()).not.toContain(first);
  });

  it.each([
    { name: "other unused bits at its end", respell: respelled },
    { name: "padding", respell: (token: string) => `${token}=` },
  ])("takes a token whose signature is written with $name for the same token", async ({ respell }) => {
    await one.refresh(first);
    nowMs += 30_001;
    expect(await codeOf(one.refresh(respell(first)))).toBe("refresh_token_reused");
  });

  it("refuses a token with too much padding, and ends nothing", async () => {
    const second = tokenOf(await one.refresh(first));
    nowMs += 30_001;
    expect(await codeOf(one.refresh(`${first}==`))).toBe("token_invalid");
    expect(await codeOf(one.refresh(second))).toBe("ok");
  });

  it("decides again when another call of the user writes in between", async () => {
    let writes = 3;
    store.beforeUpdate = (): void => {
      if (store.user === undefined || writes === 0) return;
      writes -= 1;
      store.user = { ...store.user, revision: store.user.revision + 1 };
    };
    expect((await one.refresh(first)).result).toBe("rotated");
    expect([generation(), store.updates]).toEqual([1, 1]);
  });

  it("ends with session_revoked when the session is logged out in between", async () => {
    store.beforeUpdate = (): void => {
      if (store.user?.revision !== 0) return;
      store.user = { ...store.user, ...changeOfSessions(store.user, [], nowMs), revision: 1 };
    };
    expect(await codeOf(one.refresh(first))).toBe("session_revoked");
    expect(store.user?.sessions).toEqual([]);
  });

  it("is busy, and changes nothing, when other writes win every time", async () => {
    store.beforeUpdate = (): void => {
      if (store.user !== undefined) store.user = { ...store.user, revision: store.user.revision + 1 };
    };
    expect(await codeOf(one.refresh(first))).toBe("busy");
    expect(generation()).toBe(0);
  });

  it("gives all tabs one token while one replica signs with the next key and another not yet", async () => {
    const verifying = new Map([...NEXT_KEYS.refresh.verifying, ...KEYS.refresh.verifying]);
    one.keys = { ...KEYS, refresh: { ...KEYS.refresh, verifying } };
    two.keys = { ...NEXT_KEYS, refresh: { ...NEXT_KEYS.refresh, verifying } };
    let token = first;
    // The replica that rotates takes turns; whichever answer a browser receives last, its token is the current one.
    for (const [rotating, repeating] of [
      [one, two],
      [two, one],
      [two, one],
      [one, two],
    ] as const) {
      const rotated = await rotating.refresh(token);
      const repeated = await Promise.all([repeating.refresh(token), rotating.refresh(token)]);
      expect([rotated, ...repeated].map(({ result }) => result)).toEqual(["rotated", "grace", "grace"]);
      expect(repeated.map(tokenOf)).toEqual([tokenOf(rotated), tokenOf(rotated)]);
      token = tokenOf(rotated);
      nowMs += 600_000;
    }
    expect(generation()).toBe(4);
  });

  it("refuses a token of a record that was put back to an earlier state, and ends nothing", async () => {
    const before = store.user;
    const second = tokenOf(await one.refresh(first));
    store.user = before;
    expect(await codeOf(one.refresh(second))).toBe("token_invalid");
    expect(store.user?.sessions).toHaveLength(2);
  });

  it("refuses a record whose own token is not that of its newest session", async () => {
    if (store.user !== undefined) store.user = { ...store.user, refreshToken: "00".repeat(32) };
    expect(await codeOf(one.refresh(first))).toBe("token_invalid");
  });

  it("is session_revoked for a user that is gone", async () => {
    store.user = undefined;
    expect(await codeOf(one.refresh(first))).toBe("session_revoked");
  });

  it("keeps the refresh token when rotation is off, and moves the end of the session", async () => {
    const options = { ...OPTIONS, isRotating: false };
    nowMs += 86_400_000;
    const result = await one.refresh(first, options);
    expect([result.result, result.refresh, generation()]).toEqual(["issued", undefined, 0]);
    expect(store.user?.sessions.at(-1)?.idleExpiresAtMs).toBe(nowMs + OPTIONS.idleMs);
    expect((await one.refresh(first, options)).result).toBe("issued");
  });
});
