import { describe, expect, it } from "vitest";
import { type AccountClientOptions, type CallError, createAccountClient } from "./account-client.ts";

const ADA = { id: "1", email: "ada@example.com" };

/** A service with one session, whose tokens a test lets expire. */
class FakeService {
  /** The requests, in order. */
  readonly asked: string[] = [];
  readonly bodies: unknown[] = [];
  readonly waits: number[] = [];
  signedOut = 0;
  isAccessValid = true;
  isRefreshValid = true;
  /** Answers before those of the session, by path: the first of a path is for its next request. */
  readonly refusals: {
    readonly path: string;
    readonly status: number;
    readonly retryAfter?: string;
    readonly body?: string;
  }[] = [];
  /** Requests wait for it. */
  gate: Promise<unknown> = Promise.resolve();

  client(options: AccountClientOptions = {}): ReturnType<typeof createAccountClient> {
    return createAccountClient({
      origin: "https://account.example.com",
      fetch: this.fetch,
      sleep: async (ms) => {
        this.waits.push(ms);
      },
      onSignedOut: () => {
        this.signedOut += 1;
      },
      ...options,
    });
  }

  readonly fetch = async (url: string, init: RequestInit): Promise<Response> => {
    init.signal?.throwIfAborted();
    if (init.credentials !== "include") throw new Error("the request goes without its cookies");
    const path = url.replace("https://account.example.com/api/v1/user/", "");
    this.asked.push(`${init.method ?? "GET"} ${path}`);
    this.bodies.push(init.body);
    // The cookie of a request is that of the moment in which it is sent.
    const isAuthenticated = this.isAccessValid;
    await this.gate;
    const index = this.refusals.findIndex((refusal) => refusal.path === path);
    const [refusal] = index === -1 ? [] : this.refusals.splice(index, 1);
    if (refusal !== undefined) {
      const { status, retryAfter, body = "{}" } = refusal;
      return new Response(body, { status, headers: retryAfter === undefined ? {} : { "Retry-After": retryAfter } });
    }
    if (path === "refresh-token") {
      if (!this.isRefreshValid) return failure("refresh_token_reused");
      this.isAccessValid = true;
      return Response.json({ message: "Your session is refreshed." });
    }
    return isAuthenticated ? Response.json({ user: ADA }) : failure("token_expired");
  };
}

function failure(code: string): Response {
  return Response.json({ code, message: `Refused: ${code}`, errors: [], requestId: "r" }, { status: 401 });
}

describe("the client", () => {
  it("sends JSON, forms and ids", async () => {
    const service = new FakeService();
    const client = service.client();
    const avatar = new Blob(["image"]);
    await client.login({ email: "ada@example.com", password: "correct horse battery" });
    await client.register({ email: "ada@example.com", password: "correct horse battery", name: undefined, avatar });
    await client.revokeSession({ id: "a/b" });
    await client.currentUser();
    expect(service.asked).toEqual(["POST login", "POST register", "DELETE sessions/a%2Fb", "GET current-user"]);
    expect(service.bodies[0]).toBe('{"email":"ada@example.com","password":"correct horse battery"}');
    expect([...(service.bodies[1] as FormData).keys()]).toEqual(["email", "password", "avatar"]);
    expect(service.bodies.slice(2)).toEqual([undefined, undefined]);
  });

  it("refreshes an expired session once for all calls, and repeats each", async () => {
    const service = new FakeService();
    service.isAccessValid = false;
    const client = service.client();
    const answers = await Promise.all([client.currentUser(), client.currentUser(), client.currentUser()]);
    expect(answers).toEqual([{ user: ADA }, { user: ADA }, { user: ADA }]);
    expect(service.asked.filter((path) => path === "POST refresh-token")).toHaveLength(1);
    expect(service.signedOut).toBe(0);
  });

  it("refreshes once when the 401 of a call comes after the refresh for another one", async () => {
    const service = new FakeService();
    service.isAccessValid = false;
    const client = service.client();
    const { promise, resolve } = Promise.withResolvers<undefined>();
    service.gate = promise;
    const late = client.currentUser();
    service.gate = Promise.resolve();
    await client.currentUser();
    resolve(undefined);
    expect(await late).toEqual({ user: ADA });
    expect(service.asked.filter((path) => path === "POST refresh-token")).toHaveLength(1);
  });

  it("does not refresh for a wrong password", async () => {
    const service = new FakeService();
    const body = JSON.stringify({ code: "invalid_credentials", errors: [{ field: "password" }] });
    service.refusals.push({ path: "login", status: 401, body });
    await expect(service.client().login({ email: "a@x.com", password: "wrong" })).rejects.toMatchObject({
      ...{ name: "CallError", status: 401, code: "invalid_credentials", errors: [{ field: "password" }] },
    });
    expect([service.asked, service.signedOut]).toEqual([["POST login"], 0]);
  });

  it("signs out once when the refresh is refused", async () => {
    const service = new FakeService();
    service.isAccessValid = service.isRefreshValid = false;
    const client = service.client();
    const results = await Promise.allSettled([client.currentUser(), client.listSessions()]);
    expect(results.map((result) => (result as { readonly reason: CallError }).reason.code)).toEqual([
      "refresh_token_reused",
      "refresh_token_reused",
    ]);
    expect(service.signedOut).toBe(1);
  });

  it("repeats a call once only", async () => {
    const service = new FakeService();
    const unauthenticated = { path: "current-user", status: 401 };
    service.refusals.push(unauthenticated, unauthenticated, unauthenticated);
    await expect(service.client().currentUser()).rejects.toMatchObject({ status: 401, code: "unknown" });
    expect(service.asked).toEqual(["GET current-user", "POST refresh-token", "GET current-user"]);
    expect(service.signedOut).toBe(1);
  });

  it("stops after three refreshes in a row, and starts anew after a call that succeeds", async () => {
    const service = new FakeService();
    const client = service.client();
    const refuse = (times: number): void => {
      for (let each = 0; each < times; each++) service.refusals.push({ path: "current-user", status: 401 });
    };
    refuse(8);
    for (let each = 0; each < 5; each++) await expect(client.currentUser()).rejects.toMatchObject({ status: 401 });
    const refreshes = (): number => service.asked.filter((path) => path === "POST refresh-token").length;
    expect([refreshes(), service.signedOut, service.refusals]).toEqual([3, 5, []]);
    await client.login({ email: "a@x.com", password: "p" });
    refuse(1);
    await client.currentUser();
    expect(refreshes()).toBe(4);
  });

  it.each([
    { status: 429, retryAfter: "3", waits: [3000] },
    { status: 503, retryAfter: "1", waits: [1000] },
    { status: 503, retryAfter: undefined, waits: [1000] },
    { status: 503, retryAfter: "0", waits: [1000] },
    { status: 503, retryAfter: "Sat, 28 Nov 2026 00:00:00 GMT", waits: [1000] },
  ])("waits after $status with Retry-After $retryAfter, and repeats", async ({ status, retryAfter, waits }) => {
    const service = new FakeService();
    service.refusals.push({ path: "current-user", status, ...(retryAfter !== undefined && { retryAfter }) });
    const announced: number[] = [];
    expect(await service.client({ onWait: (seconds) => announced.push(seconds) }).currentUser()).toEqual({ user: ADA });
    expect(service.waits).toEqual(waits);
    expect(announced.map((seconds) => seconds * 1000)).toEqual(waits);
  });

  it.each([
    { waitMaxSeconds: undefined, retryAfter: "11", waits: 0 },
    { waitMaxSeconds: undefined, retryAfter: "4", waits: 2 },
    { waitMaxSeconds: 60, retryAfter: "30", waits: 2 },
    { waitMaxSeconds: 0, retryAfter: "1", waits: 0 },
  ])("waits $waits times for $retryAfter s with waitMaxSeconds $waitMaxSeconds", async (row) => {
    const service = new FakeService();
    const refusal = { path: "current-user", status: 429, retryAfter: row.retryAfter };
    service.refusals.push(refusal, refusal, refusal);
    const client = service.client(row.waitMaxSeconds === undefined ? {} : { waitMaxSeconds: row.waitMaxSeconds });
    await expect(client.currentUser()).rejects.toMatchObject({ retryAfterSeconds: Number(row.retryAfter) });
    expect([service.waits.length, service.signedOut]).toEqual([row.waits, 0]);
  });

  it("keeps the session when the refresh finds the service busy", async () => {
    const service = new FakeService();
    service.isAccessValid = false;
    service.refusals.push({ path: "refresh-token", status: 503, retryAfter: "1" });
    expect(await service.client().currentUser()).toEqual({ user: ADA });
    service.isAccessValid = false;
    service.refusals.push({ path: "refresh-token", status: 503, retryAfter: "60" });
    await expect(service.client().currentUser()).rejects.toMatchObject({ status: 503 });
    expect(service.signedOut).toBe(0);
  });

  it("keeps the session over any number of refreshes that find the service busy", async () => {
    const service = new FakeService();
    service.isAccessValid = false;
    const client = service.client();
    for (let outage = 0; outage < 5; outage++) {
      service.refusals.push({ path: "refresh-token", status: 503, retryAfter: "60" });
      await expect(client.currentUser()).rejects.toMatchObject({ status: 503 });
    }
    expect([await client.currentUser(), service.signedOut]).toEqual([{ user: ADA }, 0]);
  });

  it.each([
    { body: "<h1>Welcome</h1>", message: "The service answered 200." },
    { body: '{"user":', message: "The service answered 200." },
  ])("rejects a 200 with the body $body", async ({ body, message }) => {
    const service = new FakeService();
    service.refusals.push({ path: "current-user", status: 200, body });
    await expect(service.client().currentUser()).rejects.toMatchObject({ status: 200, code: "unknown", message });
  });

  it("keeps the session without a network", async () => {
    const service = new FakeService();
    const offline = service.client({ fetch: () => Promise.reject(new TypeError("Failed to fetch")) });
    await expect(offline.currentUser()).rejects.toThrow(TypeError);
    expect(service.signedOut).toBe(0);
  });

  it("ends a wait when the signal is aborted", async () => {
    const service = new FakeService();
    service.refusals.push({ path: "current-user", status: 503, retryAfter: "5" });
    const stop = new AbortController();
    const reason = new Error("the page is left");
    const client = service.client({ sleep: () => new Promise(() => undefined), onWait: () => stop.abort(reason) });
    await expect(client.currentUser({ signal: stop.signal })).rejects.toBe(reason);
    await expect(client.currentUser({ signal: stop.signal })).rejects.toBe(reason);
    expect(service.asked).toEqual(["GET current-user"]);
  });

  it("continues the refresh for others when the signal of one is aborted", async () => {
    const service = new FakeService();
    service.isAccessValid = false;
    const stop = new AbortController();
    const client = service.client({
      fetch: async (url, init) => {
        if (url.endsWith("refresh-token")) stop.abort(new Error("the page is left"));
        return await service.fetch(url, init);
      },
    });
    const [left, stayed] = await Promise.allSettled([
      client.currentUser({ signal: stop.signal }),
      client.listSessions(),
    ]);
    expect([left.status, stayed.status]).toEqual(["rejected", "fulfilled"]);
  });

  it("describes an answer of a proxy", async () => {
    const service = new FakeService();
    service.refusals.push({ path: "current-user", status: 502, body: "<h1>Bad Gateway</h1>" });
    const error = await service
      .client()
      .currentUser()
      .catch((reason: unknown) => reason as CallError);
    expect(error).toMatchObject({ status: 502, code: "unknown", errors: [], message: "The service answered 502." });
  });
});
