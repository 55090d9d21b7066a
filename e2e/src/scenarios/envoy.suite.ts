// What a rate limit pod behind a real Envoy must do, whatever its counters are kept in.
import { request as httpRequest, Agent } from "node:http";
import { eventually } from "@weir/harness/processes/eventually";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Envoy } from "@weir/harness/envoy/envoy";
import { startEnvoy } from "@weir/harness/envoy/envoy";
import { type Weir, manifestOf, startWeir } from "@weir/harness/weir/weir";
import type { Pod } from "@weir/harness/weir/pod";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import type { Upstream } from "@weir/harness/servers/upstream";
import { startUpstream } from "@weir/harness/servers/upstream";

/** How many requests of one user are under way at a time while a manifest is edited. */
const TRAFFIC_WORKERS = 6;

/** Requests of each user of that traffic: more than any of the limits. */
const REQUESTS_PER_USER = 12;

/** What the suite needs in addition to Envoy: a place for counters, in the environment of the pod. */
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
    const agent = new Agent({ keepAlive: true });
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
      agent.destroy();
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
      const statuses = await Promise.all(Array.from({ length: 40 }, () => send("/limited", "at-once")));
      expect(statuses.filter((status) => status === 200)).toHaveLength(5);
      expect(statuses.filter((status) => status === 429)).toHaveLength(35);
      expect(upstream!.requestsOf("at-once")).toBe(5);
    });

    it("counts every user alone", async () => {
      await sendInTurn("/limited", "first-user", 6);
      expect(await send("/limited", "second-user")).toBe(200);
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
      const traffic = startTraffic();
      await traffic.untilAllowed(from, 0); // Some users see the old number only.
      const editedMs = Date.now();
      flow!.writeManifest("suite.yaml", rules(to));
      const firstMs = await traffic.untilAllowed(to, editedMs);
      await traffic.untilAllowed(to, firstMs + 1); // Some users see the new number only.
      const users = await traffic.stop();

      const failures = users.flatMap(({ statuses }) => statuses).filter((status) => status !== 200 && status !== 429);
      expect(failures).toEqual([]);
      for (const { startedMs, endedMs, allowed } of users) {
        if (endedMs < editedMs) expect(allowed).toBe(from);
        else if (startedMs > firstMs) expect(allowed).toBe(to);
        else expect([4, 5, 6, 7]).toContain(allowed); // The change came between two requests of this user.
      }
    }

    /** Users one after another, each with as many requests as show its limit; several at a time. */
    function startTraffic(): {
      /**
       * Resolves with the time at which the first user was done who began at `sinceMs` or later and
       * was allowed so many requests.
       */
      untilAllowed(allowed: number, sinceMs: number): Promise<number>;
      stop(): Promise<readonly UserRecord[]>;
    } {
      const users: UserRecord[] = [];
      let isStopping = false;
      const work = async (): Promise<void> => {
        while (!isStopping) {
          const user = `traffic-${trafficUsers++}`;
          const startedMs = Date.now();
          const statuses = await sendInTurn("/edited", user, REQUESTS_PER_USER);
          users.push({
            startedMs,
            endedMs: Date.now(),
            statuses,
            allowed: statuses.filter((status) => status === 200).length,
          });
        }
      };
      const workers = Array.from({ length: TRAFFIC_WORKERS }, work);
      return {
        untilAllowed: (allowed, sinceMs) =>
          eventually(`a user who is allowed ${allowed} requests`, () => {
            const first = users.find((user) => user.startedMs >= sinceMs && user.allowed === allowed);
            if (first === undefined) throw new Error(`there were ${users.length} users`);
            return first.endedMs;
          }),
        stop: async () => {
          isStopping = true;
          await Promise.all(workers);
          return users.toSorted((a, b) => a.startedMs - b.startedMs);
        },
      };
    }

    async function sendInTurn(path: string, user: string, count: number): Promise<number[]> {
      const statuses: number[] = [];
      for (let request = 0; request < count; request++) statuses.push(await send(path, user));
      return statuses;
    }

    /**
     * Resolves with the HTTP status, and with 0 when there was none: a reset or a refused
     * connection.
     */
    function send(path: string, user: string): Promise<number> {
      return new Promise((resolve) => {
        const sent = httpRequest(`${envoy!.url}${path}`, { agent, headers: { "x-user": user } }, (response) => {
          response.resume();
          response.once("end", () => resolve(response.statusCode ?? 0));
          response.once("error", () => resolve(0));
        });
        sent.once("error", () => resolve(0));
        sent.end();
      });
    }
  });
}

/** What one user of the traffic got. */
interface UserRecord {
  readonly startedMs: number;
  readonly endedMs: number;
  readonly statuses: readonly number[];
  readonly allowed: number;
}
