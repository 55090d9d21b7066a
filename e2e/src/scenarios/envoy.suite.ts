// Tests of a rate limit pod behind a real Envoy, with any store for its counters.
import { eventually } from "@weir/harness/processes/eventually";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Envoy } from "@weir/harness/envoy/envoy";
import { startEnvoy } from "@weir/harness/envoy/envoy";
import { type Weir, manifestOf, startWeir } from "@weir/harness/weir/weir";
import type { Pod } from "@weir/harness/weir/pod";
import { spend, Traffic } from "@weir/harness/weir/traffic";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import type { Upstream } from "@weir/harness/servers/upstream";
import { startUpstream } from "@weir/harness/servers/upstream";

/** How many requests of one user are under way at a time while a manifest is edited. */
const TRAFFIC_WORKERS = 6;

/** Requests of each user of that traffic: more than any of the limits. */
const REQUESTS_PER_USER = 12;

/** The counter store that the suite needs in addition to Envoy, and the environment that a pod needs for it. */
export interface CounterStore {
  readonly podEnv: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

/**
 * The rules of the suite: a limit per year, so that no window ends during a test; every test asks
 * about users of its own.
 */
function rules(editedLimit: number): string {
  const perUser = (requestsPerUnit: number): { key: string; rateLimit: { unit: string; requestsPerUnit: number } } => ({
    key: "user",
    rateLimit: { unit: "year", requestsPerUnit },
  });
  return manifestOf("suite", "envoy", [
    { key: "path", value: "/limited", descriptors: [perUser(5)] },
    { key: "path", value: "/trial", descriptors: [{ ...perUser(3), shadowMode: true }] },
    { key: "path", value: "/edited", descriptors: [perUser(editedLimit)] },
  ]);
}

/** Runs the suite with pods whose counters are in what `startStore` starts. */
export function describeEnvoy(name: string, startStore: (folder: string) => Promise<CounterStore>): void {
  describe(`a rate limit pod behind Envoy with ${name}`, () => {
    const folder = makeTemporaryFolder();
    let store: CounterStore | undefined;
    let upstream: Upstream | undefined;
    let flow: Weir | undefined;
    let pod: Pod;
    let envoy: Envoy | undefined;
    let trafficUsers = 0;

    beforeAll(async () => {
      store = await startStore(folder.path);
      upstream = await startUpstream();
      flow = await startWeir(folder.path, { manifests: { "suite.yaml": rules(4) } });
      pod = await flow.startPod(store.podEnv);
      envoy = await startEnvoy({
        folder: folder.path,
        domain: "envoy",
        rateLimitPort: pod.grpcPort,
        upstreamPort: upstream.port,
      });
    });

    afterAll(async () => {
      await envoy?.stop();
      await flow?.stop();
      await upstream?.stop();
      await store?.stop();
      folder.remove();
    });

    it("lets exactly the configured number of requests through", async () => {
      const statuses = await sendInTurn("/limited", "exact", 9);
      expect(statuses).toEqual([200, 200, 200, 200, 200, 429, 429, 429, 429]);
      expect(upstream!.requestsOf("exact")).toBe(5);
    });

    it("lets exactly the configured number through when they come at the same time", async () => {
      const statuses = await Promise.all(Array.from({ length: 40 }, () => sendInTurn("/limited", "at-once", 1)));
      expect(statuses.filter(([status]) => status === 200)).toHaveLength(5);
      expect(statuses.filter(([status]) => status === 429)).toHaveLength(35);
      expect(upstream!.requestsOf("at-once")).toBe(5);
    });

    it("counts every user alone", async () => {
      await sendInTurn("/limited", "first-user", 6);
      expect(await sendInTurn("/limited", "second-user", 1)).toEqual([200]);
    });

    it("lets everything through a rule in shadow mode, and counts it", async () => {
      expect(await sendInTurn("/trial", "shadow", 8)).toEqual([200, 200, 200, 200, 200, 200, 200, 200]);
      expect(upstream!.requestsOf("shadow")).toBe(8);
    });

    it("lets through what no rule is about", async () => {
      expect(await sendInTurn("/free", "unknown", 12)).toEqual(Array.from({ length: 12 }, () => 200));
    });

    it("applies an edited number while traffic flows, and fails no request meanwhile", async () => {
      await editWhileTrafficFlows(4, 7);
      await editWhileTrafficFlows(7, 4);
      expect(await envoy!.rateLimitCounters()).not.toHaveProperty("error");
    });

    async function editWhileTrafficFlows(from: number, to: number): Promise<void> {
      const users: UserRecord[] = [];
      /** One user, with as many requests as show its limit. */
      const ask = async () => {
        const startedMs = Date.now();
        const statuses = await sendInTurn("/edited", `traffic-${trafficUsers++}`, REQUESTS_PER_USER);
        if (statuses.some((status) => status !== 200 && status !== 429)) throw new Error(statuses.join());
        const allowed = statuses.filter((status) => status === 200).length;
        users.push({ startedMs, endedMs: Date.now(), allowed });
        return { code: "limited", limit: allowed } as const;
      };
      /** Resolves with the time at which the first user was done who began then or later and was allowed so many. */
      const untilAllowed = (allowed: number, sinceMs: number): Promise<number> =>
        eventually(`a user who is allowed ${allowed} requests`, () => {
          const first = users.find((user) => user.startedMs >= sinceMs && user.allowed === allowed);
          if (first === undefined) throw new Error(`there were ${users.length} users`);
          return first.endedMs;
        });
      const lanes = Array.from({ length: TRAFFIC_WORKERS }, () => ({ ask }));
      const traffic = new Traffic(lanes, { periodMs: 0, waitingMax: 1 });
      await untilAllowed(from, 0); // Some users see the old number only.
      const editedMs = Date.now();
      flow!.writeManifest("suite.yaml", rules(to));
      const firstMs = await untilAllowed(to, editedMs);
      await untilAllowed(to, firstMs + 1); // Some users see the new number only.
      expect(await traffic.stop()).toEqual({});
      for (const { startedMs, endedMs, allowed } of users) {
        if (endedMs < editedMs) expect(allowed).toBe(from);
        else if (startedMs > firstMs) expect(allowed).toBe(to);
        else expect([4, 5, 6, 7]).toContain(allowed); // The change came between two requests of this user.
      }
    }

    function sendInTurn(path: string, user: string, count: number): Promise<readonly number[]> {
      return spend({ url: `${envoy!.url}${path}`, user }, count);
    }
  });
}

/** The first and the last moment of one user of the traffic, and the number of requests that were allowed. */
interface UserRecord {
  readonly startedMs: number;
  readonly endedMs: number;
  readonly allowed: number;
}
