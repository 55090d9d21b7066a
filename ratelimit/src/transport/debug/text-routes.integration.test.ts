// /stats over HTTP: its formats, and other work of the process while it answers.
import { silentLog } from "@weir/common/log/log";
import { AdminServer } from "@weir/common/admin/admin-server";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { StatisticsStore } from "../../statistics/statistics-store.ts";
import { statsRoute } from "./text-routes.ts";

describe("statsRoute()", () => {
  let store: StatisticsStore;
  let server: AdminServer;
  let url: string;

  beforeEach(async () => {
    store = new StatisticsStore({ maxDynamicKeys: 20_000 });
    server = new AdminServer(
      { log: silentLog() },
      { host: "127.0.0.1", port: 0, setting: "DEBUG_PORT", what: "debug" },
    );
    server.route(statsRoute(store, new Map([["team", "x"]])));
    await server.start();
    url = `http://127.0.0.1:${server.address()?.port ?? 0}/stats`;
  });

  afterEach(() => server.stop());

  it("answers with sorted lines, as one JSON object, and with nothing but headers", async () => {
    store.counter("b").add(2);
    store.gauge("a").set(1.5);
    const text = await fetch(url);
    expect(text.headers.get("content-type")).toBe("text/plain; charset=utf-8");
    expect(await text.text()).toBe(
      "a.__team=x: 1.5\nb.__team=x: 2\nratelimit.service.stats_keys_dropped.__team=x: 0\n",
    );
    const json = await fetch(`${url}?format=json`);
    expect(json.headers.get("content-type")).toBe("application/json");
    expect(await json.text()).toBe(
      '{"a.__team=x":1.5,"b.__team=x":2,"ratelimit.service.stats_keys_dropped.__team=x":0}\n',
    );
    const head = await fetch(url, { method: "HEAD" });
    expect([head.status, await head.text()]).toEqual([200, ""]);
  });

  it("answers with a hundred and forty thousand statistics in more than two thousand turns of the event loop", async () => {
    for (let index = 0; index < 20_000; index++) store.dynamicRule(`domain.key_${index}`);
    let turns = 0;
    let isDone = false;
    const turn = (): void => {
      turns += 1;
      if (!isDone) setImmediate(turn);
    };
    setImmediate(turn);
    const text = await (await fetch(url)).text();
    isDone = true;
    expect(text.split("\n")).toHaveLength(140_002);
    // Two hundred to read a hundred rules each, 274 to sort, 273 in each of nine rounds to merge,
    // 281 to write.
    expect(turns).toBeGreaterThan(2000);
  });
});
