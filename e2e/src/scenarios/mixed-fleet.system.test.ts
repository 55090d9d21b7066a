// A fleet of pods of an old and a new image behind two replicas: every pod has the newest rules that it
// can load, and no limit is absent, whatever is edited, restarted, rolled back or killed.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "@weir/harness/processes/eventually";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { type DevelopmentCertificates, ensureCertificates } from "@weir/dev/setup/certificates";
import { manifestOf, saveManifest } from "@weir/harness/weir/weir";
import { type OldImageRelay, startOldImageRelay } from "@weir/harness/ads/old-image-relay";
import { type Pod, startPod } from "@weir/harness/weir/pod";
import type { Traffic } from "@weir/harness/weir/traffic";
import { launcher, runCommand } from "@weir/harness/processes/programs";
import { type Replica, type ReportedResource, startReplica } from "@weir/harness/weir/replica";
import { type CuttingProxy, startCuttingProxy } from "@weir/harness/servers/cutting-proxy";
import { limitsIn } from "@weir/harness/ads/pod-end";
import { answerOfOldImage, ScriptedPod, tlsOf } from "@weir/harness/ads/scripted-pod";

/** Longest wait for the limits of a pod, in milliseconds: it may connect to the killed replica first. */
const ARRIVAL_MS = 40_000;

/** The limit of each domain. */
type Limits = Readonly<Record<string, number | undefined>>;

describe("a fleet of pods of an old and a new image", () => {
  const folder = makeTemporaryFolder();
  const manifests = join(folder.path, "manifests");
  const replicas: Replica[] = [];
  const started: (Replica | Pod)[] = [];
  let certificates: DevelopmentCertificates;
  let address: CuttingProxy;
  let relay: OldImageRelay;
  /** The real pods, and a scripted one of the old image. */
  let current: Pod;
  let old: Pod;
  let scripted: ScriptedPod;

  beforeAll(async () => {
    mkdirSync(manifests);
    certificates = await ensureCertificates(join(folder.path, "certificates"), {
      hostNames: ["localhost"],
      now: new Date(),
    });
    save("mail", 1);
    save("search", 1, { unit: "week" }); // A unit that the old image cannot load.
    for (const index of [0, 1]) await launch(index);
    address = await startCuttingProxy(replicas[0]!.adsPort, replicas[1]!.adsPort);
    relay = await startOldImageRelay(address.port, certificates);
    [current, old, scripted] = [await startNew("edge/one"), await startOld("edge/two"), connectScripted()];
  });

  afterAll(async () => {
    scripted.close();
    for (const { process } of started.toReversed()) await process.stop("SIGTERM", 5000);
    relay.stop();
    await address.close();
    folder.remove();
  });

  it("has everything but the unknown resource on old pods after a fresh start, and reports that", async () => {
    await expectLimits(current, { mail: 1, search: 1 });
    await expectLimits(old, { mail: 1, search: undefined });
    await expectScripted({ mail: 1 });
    await eventually("the report of the resource", async () => {
      const reported = await reportsOf("search");
      expect(reported.flatMap(({ problems = [] }) => problems.map(({ message }) => message))).toContainEqual(
        expect.stringContaining("pods of fleet * NACKed it, it is left out there: default/search: "),
      );
    });
    save("search", 2);
    await expectLimits(old, { mail: 1, search: 2 });
    await expectScripted({ mail: 1, search: 2 });
    await expectLimits(current, { mail: 1, search: 2 });
    await eventually("the end of the report", async () =>
      expect((await reportsOf("search")).map(({ state }) => state)).toEqual([
        "RESOURCE_STATE_SERVED",
        "RESOURCE_STATE_SERVED",
      ]),
    );
  });

  it("keeps the earlier revision on old pods after an edit that they cannot load, and takes later edits on all", async () => {
    const questions = [old.keepAsking("search"), current.keepAsking("search")];
    save("search", 3, { unit: "week" });
    await expectLimits(current, { mail: 1, search: 3 });
    save("mail", 2);
    await expectLimits(current, { mail: 2, search: 3 });
    await expectLimits(old, { mail: 2, search: 2 });
    await expectScripted({ mail: 2, search: 2 });
    expect(await Promise.all(questions.map((each) => each.end()))).toEqual(["2", "2 → 3"]);
  });

  it("is reported by weir rollout with the pods of each resource", async () => {
    const servers = replicas.map(({ url }) => `--server ${url}`).join(" ");
    await eventually("the merged report", async () => {
      const { code, stdout } = await runCommand(`${launcher("weir")} rollout ${servers} -o json`, { cwd: folder.path });
      expect(code).toBe(1);
      const rejection = expect.stringContaining("default/search: invalid rate limit unit") as string;
      expect(JSON.parse(stdout)).toMatchObject({
        ok: false,
        problems: ["1 resource is not served as written", "2 pods have NACKed the active version"],
        pods: [
          { nodeId: "edge/one", state: "accepted" },
          { nodeId: "edge/three", state: "rejected", rejection },
          { nodeId: "edge/two", state: "rejected", rejection },
        ],
        resources: [
          { name: "mail", state: "served", pods: { total: 3, accepted: 3, rejected: 0, pending: 0 } },
          {
            name: "search",
            state: "quarantined",
            reason: "RejectedByDataPlane",
            servesLastGood: true,
            pods: { total: 3, accepted: 1, rejected: 2, pending: 0 },
          },
        ],
      });
    });
  });

  it("sends the same to pods that restart", async () => {
    for (const pod of [old, current]) {
      pod.process.kill();
      await pod.process.exited;
    }
    scripted.close();
    [current, old, scripted] = [await startNew("edge/one"), await startOld("edge/two"), connectScripted()];
    await expectLimits(current, { mail: 2, search: 3 });
    await expectLimits(old, { mail: 2, search: 2 });
    await expectScripted({ mail: 2, search: 2 });
  });

  it("has the earlier revision on a pod that is rolled back to the old image, and the present one when it is updated", async () => {
    await current.process.stop("SIGTERM", 5000);
    const rolledBack = await startOld("edge/one");
    await expectLimits(rolledBack, { mail: 2, search: 2 });
    await rolledBack.process.stop("SIGTERM", 5000);
    current = await startNew("edge/one");
    await expectLimits(current, { mail: 2, search: 3 });
  });

  it("keeps the earlier revision on old pods when a resource names their fleet for the first time", async () => {
    save("late", 5, { fleets: ["edge"] });
    await expectLimits(current, { mail: 2, search: 3, late: 5 });
    await expectLimits(old, { mail: 2, search: 2, late: 5 });
    await expectScripted({ mail: 2, search: 2, late: 5 });
  });

  it("keeps every limit when a replica is killed, and takes an edit of that moment", async () => {
    const questions = askAll();
    const [first] = replicas;
    first!.process.kill();
    save("mail", 3);
    await first!.process.exited;
    await expectLimits(current, { mail: 3, search: 3, late: 5 });
    await expectLimits(old, { mail: 3, search: 2, late: 5 });
    await expectScripted({ mail: 3, search: 2, late: 5 });
    expect(await Promise.all(questions.map((each) => each.end()))).toEqual(["2 → 3", "2", "2 → 3", "3"]);
  });

  it("keeps every limit when that replica restarts and the other is killed", async () => {
    await launch(0);
    const questions = askAll();
    const [, second] = replicas;
    second!.process.kill();
    save("mail", 4);
    await second!.process.exited;
    await expectLimits(current, { mail: 4, search: 3, late: 5 });
    await expectLimits(old, { mail: 4, search: 2, late: 5 });
    await expectScripted({ mail: 4, search: 2, late: 5 });
    expect(await Promise.all(questions.map((each) => each.end()))).toEqual(["3 → 4", "2", "3 → 4", "3"]);
  });

  it("never lacked a resource in an ACK of the scripted pod since it restarted", () => {
    for (const limits of scripted.acked.map((response) => limitsIn(response)))
      expect(Object.keys(limits)).toEqual(expect.arrayContaining(["mail", "search"]));
  });

  /** Starts a replica with its own STATE_DIRECTORY, at its old ports if it had some. */
  async function launch(index: number): Promise<void> {
    const ports = replicas[index]?.ports;
    const place = { certificates, manifests, ...(ports === undefined ? {} : { ports }) };
    const replica = await startReplica(place, { STATE_DIRECTORY: join(folder.path, `state-${index}`) });
    replicas[index] = replica;
    started.push(replica);
  }

  function startNew(nodeId: string): Promise<Pod> {
    return start(nodeId, { CONFIG_GRPC_XDS_SERVER_URL: `localhost:${address.port}` });
  }

  function startOld(nodeId: string): Promise<Pod> {
    return start(nodeId, relay.podEnv);
  }

  async function start(nodeId: string, env: Readonly<Record<string, string>>): Promise<Pod> {
    const pod = await startPod(
      { ports: replicas[0]!.ports, certificates },
      { ...env, CONFIG_GRPC_XDS_NODE_ID: nodeId },
    );
    started.push(pod);
    return pod;
  }

  function connectScripted(): ScriptedPod {
    return new ScriptedPod(address.port, {
      nodeId: "edge/three",
      tls: tlsOf(certificates),
      answer: answerOfOldImage,
    });
  }

  function save(
    name: string,
    requestsPerUnit: number,
    { unit = "day", fleets }: { readonly unit?: string; readonly fleets?: readonly string[] } = {},
  ): void {
    const rule = { key: "user", rateLimit: { unit, requestsPerUnit } };
    saveManifest(manifests, `${name}.yaml`, manifestOf(name, name, [rule], { fleets }));
  }

  /** Asks the old pod and the new one for mail and search without a pause. */
  function askAll(): readonly Traffic[] {
    return [old, current].flatMap((pod) => [pod.keepAsking("mail"), pod.keepAsking("search")]);
  }

  async function expectLimits(pod: Pod, limits: Limits): Promise<void> {
    const ask = async (domain: string) => [domain, await pod.limitOf(domain, { user: "probe" })] as const;
    await eventually(
      "the limits of a pod",
      async () => expect(Object.fromEntries(await Promise.all(Object.keys(limits).map(ask)))).toEqual(limits),
      ARRIVAL_MS,
    );
  }

  async function expectScripted(limits: Limits): Promise<void> {
    await eventually(
      "the limits of the scripted pod",
      () => expect(scripted.acked.map((response) => limitsIn(response)).at(-1)).toEqual(limits),
      ARRIVAL_MS,
    );
  }

  /** Returns the reports of each replica about a resource. */
  async function reportsOf(name: string): Promise<readonly ReportedResource[]> {
    const rollouts = await Promise.all(replicas.map((replica) => replica.rollout()));
    return rollouts.flatMap(({ resources }) => resources.filter((resource) => resource.name === name));
  }
});
