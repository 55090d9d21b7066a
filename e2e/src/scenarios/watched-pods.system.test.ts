// `weir top` with the real programs: pods over mutual TLS on two replicas of the control plane.
import { eventually } from "@weir/harness/processes/eventually";
import { launcher, ROOT, runCommand } from "@weir/harness/processes/programs";
import type { Program } from "@weir/harness/processes/start-process";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { RateLimitClient } from "@weir/harness/servers/rate-limit-client";
import { startPod } from "@weir/harness/weir/pod";
import { makeCertificates, type Replica, startReplica } from "@weir/harness/weir/replica";
import { limitManifest, saveManifest } from "@weir/harness/weir/weir";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

/** What `weir top -o json` prints, as far as it is read here. */
interface Top {
  readonly fleets: readonly { readonly pods: number; readonly observedPods: number; readonly p99Ms?: number }[];
  readonly rules: readonly {
    readonly path: string;
    readonly limit: string;
    readonly overLimit: { readonly total: number };
    readonly hits: { readonly total: number };
    readonly keys?: {
      readonly byRejections: readonly { readonly count: number; readonly values: readonly Record<string, unknown>[] }[];
    };
  }[];
}

const ADA = { domain: "shop", descriptors: [{ entries: [{ key: "user", value: "ada" }] }] };

describe("watched pods", () => {
  const folder = makeTemporaryFolder();
  const replicas: Replica[] = [];
  const clients: RateLimitClient[] = [];
  const running: Program[] = [];

  beforeAll(async () => {
    saveManifest(folder.path, "shop.yaml", limitManifest("shop", 2));
    const certificates = await makeCertificates(folder.path);
    for (let index = 0; index < 2; index++) {
      const replica = await startReplica({ certificates, manifests: folder.path });
      const pod = await startPod({ certificates, ports: replica.ports });
      replicas.push(replica);
      clients.push(new RateLimitClient(`127.0.0.1:${pod.grpcPort}`));
      running.push(replica.process, pod.process);
    }
  });

  afterAll(async () => {
    for (const client of clients) client.close();
    for (const program of running.reverse()) await program.end();
    folder.remove();
  });

  async function top(...args: readonly string[]): Promise<Top> {
    const servers = replicas.flatMap(({ ports }) => ["-s", `127.0.0.1:${ports.controlPlaneConsole}`]);
    const { code, stdout, stderr } = await runCommand([launcher("weir"), "top", ...args, ...servers].join(" "), {
      cwd: ROOT,
    });
    expect([code, stderr]).toEqual([0, ""]);
    return JSON.parse(stdout) as Top;
  }

  it("show what they have counted before they were watched, and the same hash of a value on each replica", async () => {
    // Each pod has counters in its own memory: 5 calls, of which 3 are over the limit.
    for (const client of clients) for (let call = 0; call < 5; call++) await client.call(ADA);
    await eventually("the counts of both", async () => {
      const { fleets, rules } = await top("keys", "--once", "-o", "json");
      expect(fleets).toMatchObject([{ pods: 2, observedPods: 2 }]);
      expect(rules).toMatchObject([
        { path: "shop.user", limit: "2 per year", overLimit: { total: 6 }, hits: { total: 10 } },
      ]);
      const keys = rules[0]!.keys?.byRejections;
      expect(keys).toEqual([
        {
          ...{ count: 6, error: 0, share: 1 },
          values: [{ key: "user", hash: expect.stringMatching(/^[0-9a-f]{16}$/) as unknown, isCut: false }],
        },
      ]);
    });
  });
});
