// The stream of observations when a report fails, with a real server.
import { Client, credentials, Metadata } from "@grpc/grpc-js";
import { createLog } from "@weir/common/log/log";
import { ScriptedAdsServer } from "@weir/harness/ads/ads-server";
import { eventually } from "@weir/harness/processes/eventually";
import { expect, it } from "vitest";
import { ServiceStatistics } from "../statistics/service-statistics.ts";
import { StatisticsStore } from "../statistics/statistics-store.ts";
import { ObserveStream } from "./observe-stream.ts";
import { ObservedRules } from "./observed-rules.ts";
import { Observer } from "./observer.ts";

it("ObserveStream ends when a report fails, logs that once, and is opened again later and later until one succeeds", async () => {
  const server = new ScriptedAdsServer();
  await server.open();
  server.watch = { totals: true };
  const lines: Record<string, unknown>[] = [];
  const write = (line: string): void => void lines.push(JSON.parse(line) as Record<string, unknown>);
  const log = createLog({ level: "debug", format: "json", write });
  const waits = (): readonly unknown[] => lines.flatMap(({ retryInMs }) => retryInMs ?? []);
  const store = new StatisticsStore({ maxDynamicKeys: 1 });
  let isFaulty = true;
  const observer = new Observer({
    ...{ store, statistics: new ServiceStatistics(store), rules: new ObservedRules(() => undefined) },
    readKeys: () => (isFaulty ? Promise.reject(new Error("no keys")) : Promise.resolve([])),
    ...{ nowMs: Date.now, random: () => 0, log },
  });
  const client = new Client(`127.0.0.1:${server.port}`, credentials.createInsecure());
  const observed = { observer, topKeys: 32, keyValues: "off", readCounters: () => Promise.resolve([]) } as const;
  const stream = new ObserveStream(
    { client, headers: new Metadata(), observed, random: () => 0, log },
    { nodeId: "pod" },
  );
  try {
    await eventually("two failures", () => expect(waits()).toEqual([500, 1000]));
    expect(lines.filter(({ level }) => level === "error")).toEqual([
      expect.objectContaining({ "@message": "Cannot report what is counted", error: "no keys" }),
    ]);
    isFaulty = false;
    const third = await eventually("a report after the history", () => {
      const last = server.observeStreams[2];
      expect(last?.observations.at(-1)?.stepSeconds).toBe(1);
      return last;
    });
    third?.stream.end();
    await eventually("the first wait again", () => expect(waits()).toEqual([500, 1000, 500]));
    expect(server.violations).toEqual([]);
  } finally {
    stream.close();
    await observer.stop();
    client.close();
    server.close();
  }
});
