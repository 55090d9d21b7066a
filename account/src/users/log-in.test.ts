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
