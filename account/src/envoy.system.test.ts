// A real Envoy that verifies the access cookie with the public keys of the service.
import { readFileSync } from "node:fs";
import { type Envoy, startEnvoyWith } from "@weir/harness/envoy/envoy";
import { cluster, listener, socketAddress } from "@weir/harness/envoy/envoy-config";
import { eventually } from "@weir/harness/processes/eventually";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { type RunningService, startService, USER } from "./running-service.suite.ts";

const PAGE = readFileSync(new URL("../../docs/account.md", import.meta.url), "utf8");
const FILTER = /^```yaml\n(name: envoy\.filters\.http\.jwt_authn\n[^]*?)^```/m;

/** The tokens of a Cookie header: of access and of refreshes. */
function tokensOf(cookie: string): readonly string[] {
  return cookie.split("; ").map((pair) => pair.slice(pair.indexOf("=") + 1));
}

describe("an Envoy in front of another service", () => {
  const folder = makeTemporaryFolder();
  let service: RunningService;
  let envoy: Envoy;

  beforeAll(async () => {
    service = await startService();
    await service.register();
    // The route behind the filter answers with the header that the filter has set.
    const echo = {
      match: { prefix: "/" },
      direct_response: { status: 200 },
      response_headers_to_add: [{ header: { key: "x-user-id", value: "%REQ(x-user-id)%" } }],
    };
    const ingress = listener("ingress", {
      virtualHosts: [{ name: "all", domains: ["*"], routes: [echo] }],
      filters: [parse(FILTER.exec(PAGE)?.[1] ?? "") as object],
    });
    const clusters = [cluster("account", socketAddress(service.port))];
    envoy = await startEnvoyWith(folder.path, stringify({ static_resources: { listeners: [ingress], clusters } }));
  });

  afterAll(async () => {
    await envoy.stop();
    await service.stop();
    folder.remove();
  });

  const get = (cookie?: string): Promise<Response> =>
    fetch(envoy.url, cookie === undefined ? {} : { headers: { Cookie: cookie } });

  it("lets a call with the cookie through and names its user, with the filter of docs/account.md", async () => {
    const login = await service.login();
    const cookie = login.setCookies.map((each) => each.slice(0, each.indexOf(";"))).join("; ");
    const answer = await eventually("Envoy to have the keys", async () => {
      const response = await get(cookie);
      expect(response.status).toBe(200);
      return response;
    });
    expect(answer.headers.get("x-user-id")).toBe((login.json["user"] as { readonly id: string }).id);
  });

  it("refuses calls without the cookie, with another token in its place, a changed one, and an expired one", async () => {
    const [access = "", refresh = ""] = tokensOf(await service.session());
    service.advance(-3_600_000);
    const [expired = ""] = tokensOf(await service.session());
    service.advance(3_600_000);
    const changed = access.slice(0, -10) + (access.at(-10) === "A" ? "B" : "A") + access.slice(-9);
    const statuses = [(await get()).status];
    for (const token of [refresh, changed, expired]) statuses.push((await get(`__Host-accessToken=${token}`)).status);
    expect(statuses).toEqual([401, 403, 401, 401]); // 403: its audience is another one.
  });

  it("still accepts the token of a session that has ended, which the service refuses", async () => {
    const cookie = await service.session();
    const logout = { method: "POST", path: "/api/v1/user/logout", headers: { Cookie: cookie } };
    expect((await service.call(logout)).status).toBe(200);
    expect((await get(cookie)).status).toBe(200);
    expect((await service.call({ ...logout, method: "GET", path: "/api/v1/user/current-user" })).status).toBe(401);
  });

  it("receives keys that may be kept for five minutes, and that have no secret part", async () => {
    const { status, headers, text } = await service.call({ path: "/.well-known/jwks.json" });
    expect([status, headers["cache-control"]]).toEqual([200, "public, max-age=300"]);
    expect(text).not.toMatch(/"(?:d|k)":/);
  });

  it("receives no key when access tokens are signed with a secret, of which the log warns once", async () => {
    const secrets = {
      ACCESS_TOKEN_SECRET: "a secret of the access tokens, 32 bytes",
      REFRESH_TOKEN_SECRET: "a secret of the refresh tokens, 32 bytes",
    };
    await service.restart(secrets);
    expect((await service.login(USER)).status).toBe(200);
    for (let reads = 0; reads < 2; reads++) {
      const { status, json } = await service.call({ path: "/.well-known/jwks.json" });
      expect([status, json]).toEqual([200, { keys: [] }]);
    }
    expect(service.logLines.filter((line) => line.includes("The key set is empty"))).toHaveLength(1);
  });
});
