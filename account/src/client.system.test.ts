// The client as the service serves it, against the service, with cookies kept as a browser keeps them.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { AccountClient, AccountClientOptions, CallError } from "@weir/account/client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { png } from "./media/sample-images.suite.ts";
import { type Answer, type RunningService, startService, USER } from "./running-service.suite.ts";

/** Largest client, in bytes: front ends load it before their first call. */
const SIZE_MAX_BYTES = 4096;

const FRONT_END = "https://app.example.com";

describe("/client.js", () => {
  let service: RunningService;
  let file: Answer;
  const folder = mkdtempSync(join(tmpdir(), "weir-client-"));

  beforeAll(async () => {
    service = await startService({ CORS_ORIGINS: FRONT_END });
    file = await service.call({ path: "/client.js", headers: { Origin: FRONT_END } });
    writeFileSync(join(folder, "client.mjs"), file.text, "latin1");
  });

  afterAll(async () => {
    await service.stop();
    rmSync(folder, { recursive: true });
  });

  /** A client of the served file, with a jar of cookies, and the paths that it asked for. */
  async function open(options: AccountClientOptions = {}) {
    const { createAccountClient } = (await import(pathToFileURL(join(folder, "client.mjs")).href)) as {
      readonly createAccountClient: (options: AccountClientOptions) => AccountClient;
    };
    const jar = new Map<string, string>();
    const asked: string[] = [];
    const client = createAccountClient({
      origin: `http://127.0.0.1:${service.port}`,
      fetch: async (url, init) => {
        asked.push(new URL(url).pathname.slice("/api/v1/user/".length));
        const headers = new Headers(init.headers);
        headers.set("Cookie", [...jar].map(([name, value]) => `${name}=${value}`).join("; "));
        const response = await fetch(url, { ...init, headers });
        for (const cookie of response.headers.getSetCookie()) {
          const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
          if (value === "" || cookie.includes("Max-Age=0")) jar.delete(name);
          else jar.set(name, value);
        }
        return response;
      },
      ...options,
    });
    return { client, asked };
  }

  it("is a small module that front ends of listed origins may load", async () => {
    expect(file.status).toBe(200);
    expect(Buffer.byteLength(file.text, "latin1")).toBeLessThanOrEqual(SIZE_MAX_BYTES);
    expect(file.headers).toMatchObject({
      "content-type": "text/javascript; charset=utf-8",
      "x-content-type-options": "nosniff",
      "cache-control": "no-cache",
      "cross-origin-resource-policy": "cross-origin",
      "access-control-allow-origin": FRONT_END,
      vary: "Origin",
    });
    const stranger = await service.call({ path: "/client.js", headers: { Origin: "https://evil.example" } });
    expect(stranger.headers["access-control-allow-origin"]).toBeUndefined();
  });

  it("is sent again only when it has changed", async () => {
    const { etag = "" } = file.headers;
    const same = await service.call({ path: "/client.js", headers: { "If-None-Match": etag } });
    expect([same.status, same.text, same.headers.etag]).toEqual([304, "", etag]);
    const other = await service.call({ path: "/client.js", headers: { "If-None-Match": '"earlier"' } });
    expect([other.status, other.text]).toEqual([200, file.text]);
    const head = await service.call({ method: "HEAD", path: "/client.js" });
    expect([head.status, head.text, head.headers["content-length"]]).toEqual([200, "", String(file.text.length)]);
    expect((await service.call({ method: "POST", path: "/client.js" })).status).toBe(405);
  });

  it("registers, logs in, refreshes an expired session once, and deletes the account", async () => {
    let signedOut = 0;
    const { client, asked } = await open({ onSignedOut: () => (signedOut += 1) });
    const avatar = new File([new Uint8Array(png())], "a.png", { type: "image/png" });
    const { user } = await client.register({ ...USER, name: "Ada", avatar });
    expect(user).toMatchObject({ email: USER.email, name: "Ada", emailVerified: false });
    await expect(client.login({ ...USER, password: "wrong password" })).rejects.toMatchObject({
      ...{ name: "CallError", status: 401, code: "invalid_credentials" },
    });
    await client.login(USER);
    service.advance(3_600_000); // Longer than an access token lives.
    asked.length = 0;
    const [current, { sessions }] = await Promise.all([client.currentUser(), client.listSessions()]);
    expect([current.user.id, sessions.length]).toEqual([user.id, 1]);
    expect(asked.filter((path) => path === "refresh-token")).toHaveLength(1);
    const taken = await client.register({ ...USER, avatar }).catch((error: unknown) => error as CallError);
    expect(taken).toMatchObject({ code: "email_taken", errors: [{ field: "email" }] });
    await client.revokeSession({ id: sessions[0]?.id ?? "" });
    await client.login(USER);
    expect(await client.changeProfile({ name: null })).toMatchObject({ user: { name: null } });
    await client.deleteAccount({ password: USER.password });
    expect(signedOut).toBe(0);
    await expect(client.currentUser()).rejects.toMatchObject({ status: 401 });
    expect(signedOut).toBe(1);
  });
});
