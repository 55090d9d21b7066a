import { createSecretKey } from "node:crypto";
import { callerGroup } from "@weir/common/callers/caller-group";
import { silentLog } from "@weir/common/log/log";
import { expect, it } from "vitest";
import type { AccountDeps, AccountOptions, Caller } from "./account-deps.ts";
import { logIn } from "./log-in.ts";

it("takes turns with the networks of its address", async () => {
  const groups: (readonly string[])[] = [];
  const deps = {
    labelKey: createSecretKey(Buffer.alloc(32, 1)),
    store: { findByEmailKey: () => Promise.resolve(undefined) },
    hasher: {
      verify: (_password: string, _hash: string | undefined, group: readonly string[]) => {
        groups.push(group);
        return Promise.resolve(false);
      },
    },
    events: { loggedIn: () => undefined },
  } as unknown as AccountDeps;
  const email = { text: "a@x.com", key: "a@x.com" };
  const input = { email, password: "guess", refreshCookie: { kind: "absent" } } as unknown as Parameters<
    typeof logIn
  >[2];
  const group = callerGroup("2001:db8:1:2::3");
  const caller: Caller = { device: { userAgent: "", ipPrefix: "" }, group, log: silentLog() };
  await expect(logIn(deps, {} as AccountOptions, input, caller)).rejects.toMatchObject({ code: "invalid_credentials" });
  expect(groups).toEqual([group.networks]);
});

it("opens no session when the password changed after it was compared", async () => {
  const record = { id: "ada", emailKey: "a@x.com", passwordHash: "hash of old", sessions: [], lockedAtMs: null };
  let stored = record;
  const key = createSecretKey(Buffer.alloc(32, 1));
  const deps = {
    labelKey: key,
    clock: () => 1_800_000_000_000,
    newId: () => "session",
    random: () => 0,
    store: {
      findByEmailKey: () => Promise.resolve(stored),
      findById: () => Promise.resolve(stored),
      update: () => Promise.reject(new Error("no session may be stored")),
    },
    hasher: {
      verify: (password: string, hash: string) => Promise.resolve(hash === `hash of ${password}`),
      isOutdated: () => false,
    },
    tokens: {
      refreshKeys: () => ({ signing: { key } }),
      signAccess: () => Promise.resolve("access"),
      signRefresh: () => {
        stored = { ...record, passwordHash: "hash of new" };
        return Promise.resolve("refresh");
      },
    },
    events: { loggedIn: () => undefined },
  } as unknown as AccountDeps;
  const input = { email: { key: "a@x.com" }, password: "old", refreshCookie: { kind: "absent" } };
  const caller: Caller = { device: { userAgent: "", ipPrefix: "" }, group: callerGroup("::1"), log: silentLog() };
  const options = { idleMs: 1000, absoluteMs: 1000, maxSessions: 1, accessTtlMs: 1000 } as AccountOptions;
  const login = logIn(deps, options, input as unknown as Parameters<typeof logIn>[2], caller);
  await expect(login).rejects.toMatchObject({ code: "invalid_credentials" });
});
