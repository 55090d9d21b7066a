import { createSecretKey } from "node:crypto";
import { silentLog } from "@weir/common/log/log";
import { expect, it } from "vitest";
import type { AccountDeps, AccountOptions, Caller } from "./account-deps.ts";
import { logIn } from "./log-in.ts";

it("takes turns with its /48, not with its /64", async () => {
  const groups: string[] = [];
  const deps = {
    labelKey: createSecretKey(Buffer.alloc(32, 1)),
    store: { findByEmailKey: () => Promise.resolve(undefined) },
    hasher: {
      verify: (_password: string, _hash: string | undefined, group: string) => {
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
  for (const addressPrefix of ["2001:db8:1:2::/64", "2001:db8:1:3::/64"]) {
    const caller: Caller = { device: { userAgent: "", ipPrefix: "" }, addressPrefix, log: silentLog() };
    await expect(logIn(deps, {} as AccountOptions, input, caller)).rejects.toMatchObject({
      code: "invalid_credentials",
    });
  }
  expect(groups).toEqual(["2001:db8:1::/48", "2001:db8:1::/48"]);
});
