// The admin listener over real HTTP: routing, refusals, failures, the end.
import { Agent, get, request } from "node:http";

import { afterEach, describe, expect, it } from "vitest";

import { createLog, type Log, silentLog } from "../log/log.ts";
import { type AdminRoute, AdminServer, respondJson, respondText } from "./admin-server.ts";

const servers: AdminServer[] = [];

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()));
});

async function startServer(
  routes: readonly AdminRoute[],
  options: { listUnknown?: boolean; log?: Log } = {},
): Promise<AdminServer> {
  const { log = silentLog(), ...rest } = options;
  const server = new AdminServer(
    { log },
    { host: "127.0.0.1", port: 0, setting: "DEBUG_PORT", what: "debug", ...rest },
  );
  for (const route of routes) server.route(route);
  await server.start();
  servers.push(server);
  return server;
}

function urlOf(server: AdminServer, path: string): string {
  return `http://127.0.0.1:${server.address()!.port}${path}`;
}

const rlconfig: AdminRoute = {
  path: "/rlconfig",
  help: "print out the currently loaded configuration for debugging",
  handle: (_request, response) => respondText(response, 200, "domain: a\n"),
};
const stats: AdminRoute = {
  path: "/stats",
  help: "print out stats",
  handle: (_request, response) => respondJson(response, 200, { hits: 1 }),
};
const profiles: AdminRoute = {
  path: "/debug/pprof/",
  help: "root of profiles",
  handle: (message, response) => respondText(response, 200, `profile ${message.url ?? ""}`),
};

describe("AdminServer routing", () => {
  it.each([
    { path: "/rlconfig", status: 200, type: "text/plain; charset=utf-8", body: "domain: a\n" },
    { path: "/rlconfig?x=/stats", status: 200, type: "text/plain; charset=utf-8", body: "domain: a\n" },
    { path: "/stats", status: 200, type: "application/json; charset=utf-8", body: '{\n  "hits": 1\n}\n' },
    { path: "/debug/pprof/", status: 200, type: "text/plain; charset=utf-8", body: "profile /debug/pprof/" },
    {
      path: "/debug/pprof/heap?seconds=1",
      status: 200,
      type: "text/plain; charset=utf-8",
      body: "profile /debug/pprof/heap?seconds=1",
    },
    {
      path: "/debug/pprof",
      status: 404,
      type: "text/plain; charset=utf-8",
      body: "no such path: /debug/pprof\n/debug/pprof/: root of profiles\n/rlconfig: print out the currently loaded configuration for debugging\n/stats: print out stats\n",
    },
  ])("AdminServer answers $status when the path is $path", async ({ path, status, type, body }) => {
    const server = await startServer([rlconfig, stats, profiles]);
    const response = await fetch(urlOf(server, path));
    expect({
      status: response.status,
      type: response.headers.get("content-type"),
      body: await response.text(),
    }).toEqual({
      status,
      type,
      body,
    });
  });

  it.each(["/", "/unknown", "/stats/x"])(
    "AdminServer lists its paths in order when %s has no route and it may list",
    async (path) => {
      const server = await startServer([stats, rlconfig], { listUnknown: true });
      const response = await fetch(urlOf(server, path));
      expect(response.status).toBe(200);
      expect(await response.text()).toBe(
        "/rlconfig: print out the currently loaded configuration for debugging\n/stats: print out stats\n",
      );
    },
  );

  it("AdminServer answers a path when its route was added after the start", async () => {
    const server = await startServer([]);
    server.route(rlconfig);
    expect((await fetch(urlOf(server, "/rlconfig"))).status).toBe(200);
  });

  it("AdminServer answers HEAD without a body when the route answers GET", async () => {
    const server = await startServer([rlconfig]);
    const response = await fetch(urlOf(server, "/rlconfig"), { method: "HEAD" });
    expect([response.status, response.headers.get("content-length"), await response.text()]).toEqual([200, "10", ""]);
  });

  it("AdminServer answers 405 with the methods allowed when the method is another", async () => {
    const reload: AdminRoute = {
      path: "/reload",
      help: "reload",
      methods: ["POST"],
      handle: (_request, response) => respondText(response, 200, ""),
    };
    const server = await startServer([rlconfig, reload]);
    const posted = await fetch(urlOf(server, "/rlconfig"), { method: "POST", body: "x" });
    expect([posted.status, posted.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
    expect((await fetch(urlOf(server, "/reload"), { method: "POST" })).status).toBe(200);
    expect((await fetch(urlOf(server, "/reload"))).status).toBe(405);
  });

  it.each([
    { route: { ...rlconfig, path: "stats" }, message: 'Cannot add the route "stats": a path begins with "/"' },
    { route: rlconfig, message: 'Cannot add the route "/rlconfig": it is taken' },
  ])("route() refuses with $message", async ({ route, message }) => {
    const server = await startServer([rlconfig]);
    expect(() => server.route(route)).toThrow(message);
  });
});

describe("AdminServer failures and end", () => {
  it("AdminServer answers 500 and logs once when a route fails", async () => {
    const lines: string[] = [];
    const log = createLog({ level: "info", format: "json", write: (line) => void lines.push(line) });
    const failing: AdminRoute = {
      path: "/bad",
      help: "fails",
      handle: () => Promise.reject(new Error("secret detail")),
    };
    const server = await startServer([failing], { log });
    const response = await fetch(urlOf(server, "/bad"));
    expect([response.status, await response.text()]).toEqual([500, "internal error\n"]);
    expect(lines.map((line): unknown => JSON.parse(line))).toMatchObject([
      { level: "error", "@message": "Cannot answer an admin request", path: "/bad", error: "secret detail" },
    ]);
  });

  it("AdminServer cuts the connection when a route fails after the answer began", async () => {
    const failing: AdminRoute = {
      path: "/bad",
      help: "fails",
      handle(_request, response) {
        response.writeHead(200).write("half");
        throw new Error("broke in the middle");
      },
    };
    const server = await startServer([failing]);
    const ended = new Promise((resolve, reject) => {
      get(urlOf(server, "/bad"), (response) => response.resume().on("end", resolve).on("error", reject)).on(
        "error",
        reject,
      );
    });
    await expect(ended).rejects.toMatchObject({ code: "ECONNRESET" });
  });

  it("start() names the setting when the port is taken", async () => {
    const { port } = (await startServer([])).address()!;
    const second = new AdminServer(
      { log: silentLog() },
      { host: "127.0.0.1", port, setting: "DEBUG_PORT", what: "debug" },
    );
    await expect(second.start()).rejects.toThrow(
      `Cannot listen for debug on 127.0.0.1:${port}: the port is in use; set DEBUG_PORT to another one`,
    );
    await expect(second.stop()).resolves.toBeUndefined();
  });

  it("stop() ends with idle and hanging connections open when it is called", async () => {
    const arrived = Promise.withResolvers<undefined>();
    const hanging: AdminRoute = { path: "/hang", help: "hangs", handle: () => arrived.resolve(undefined) };
    const server = await startServer([rlconfig, hanging]);
    const agent = new Agent({ keepAlive: true });
    await new Promise((resolve) => {
      get(urlOf(server, "/rlconfig"), { agent }, (response) => response.resume().on("end", resolve));
    });
    const hung = new Promise((resolve) => {
      request(urlOf(server, "/hang")).on("error", resolve).end();
    });
    await arrived.promise;
    await server.stop();
    expect(await hung).toMatchObject({ code: "ECONNRESET" });
    agent.destroy();
  });
});
