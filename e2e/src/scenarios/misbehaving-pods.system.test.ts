// Pods that no fleet should have, next to a real one: some reject everything, some never answer. The
// real one gets every edit all the same, and the report names those that do not follow.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fromBinary } from "@bufbuild/protobuf";
import { RateLimitConfigSchema } from "@weir/proto/generated/ratelimit/config/ratelimit/v3/rls_conf_pb";
import { eventually } from "@weir/testing/eventually";
import { manifestOf, saveManifest } from "../parts/flow.ts";
import { type Pod, startPod } from "../parts/pod.ts";
import { type Replica, startReplica } from "../parts/replica.ts";
import { type Answer, StreamPod } from "../parts/stream-pod.ts";
import { makeTemporaryFolder } from "@weir/testing/temporary-folder";
import { type DevelopmentCertificates, ensureCertificates } from "@weir/dev/setup/certificates";

/** The promise is a second; as much again is left to a busy test machine. */
const EDIT_TIMEOUT_MS = 2000;

/** The domains; each is limited by a resource of its own. */
const DOMAINS = ["mail", "search"] as const;

/** How each misbehaving pod answers. */
const ANSWERS: Readonly<Record<string, Answer>> = {
  "edge/refuses-by-name": (response) =>
    `${fromBinary(RateLimitConfigSchema, response.resources[0]!.value).name}: no such unit`,
  "edge/refuses-in-other-words": () => "out of memory",
  "edge/never-answers": "nothing",
};

describe("pods that reject everything or never answer", () => {
  const folder = makeTemporaryFolder();
  const manifests = join(folder.path, "manifests");
  const others: StreamPod[] = [];
  let certificates: DevelopmentCertificates;
  let replica: Replica;
  let pod: Pod;

  beforeAll(async () => {
    mkdirSync(manifests);
    for (const domain of DOMAINS) save(domain, 1);
    certificates = await ensureCertificates(join(folder.path, "certificates"), {
      hostNames: ["localhost"],
      now: new Date(),
    });
    replica = await startReplica({ certificates, manifests });
    // The others connect first, and answer first.
    for (const [nodeId, answer] of Object.entries(ANSWERS)) {
      others.push(new StreamPod({ nodeId, ports: [replica.adsPort], certificates, answer }));
    }
    for (const other of others) await other.response(1);
    pod = await startPod({ ports: replica.ports, certificates }, { CONFIG_GRPC_XDS_NODE_ID: "edge/sound" });
  });

  afterAll(async () => {
    for (const other of others) other.close();
    await pod.process.stop("SIGTERM", 5000);
    await replica.process.stop("SIGTERM", 5000);
    folder.remove();
  });

  it("keep nothing from a sound pod, though they came first", async () => {
    for (const domain of DOMAINS) await expectLimit(domain, 1);
    await eventually("the resources to be served whole", async () => {
      const { resources } = await replica.rollout();
      expect(resources.map(({ name, state }) => `${name} ${state}`)).toEqual([
        "mail RESOURCE_STATE_SERVED",
        "search RESOURCE_STATE_SERVED",
      ]);
    });
  });

  it("do not hold up edits, and are not sent the same again and again", async () => {
    const before = others.map(({ responses }) => responses.length);
    for (let edit = 2; edit <= 6; edit += 1) {
      for (const domain of DOMAINS) {
        save(domain, edit);
        await expectLimit(domain, edit, EDIT_TIMEOUT_MS);
        await expectStates();
      }
    }
    // Ten edits, each sent once: also when a rejection comes before the sound pod's answer, so that
    // what was active before comes again, and then the edit.
    expect(others.map(({ responses }, index) => responses.length - before[index]!)).toEqual([10, 10, 10]);
  });

  it("are reported apart from those that follow, each with its text", async () => {
    await expectStates();
  });

  it("cost a sound pod nothing when all of them come back after a restart", async () => {
    const questions = pod.keepAsking("mail");
    replica.process.kill();
    await replica.process.exited;
    replica = await startReplica({ certificates, manifests, ports: replica.ports });
    await eventually("everybody to be back", async () => expect((await replica.rollout()).pods).toHaveLength(4));
    save("mail", 9);
    await expectLimit("mail", 9);
    expect(await questions.end()).toBe("6 → 9");
    await expectLimit("search", 6);
  });

  function save(domain: string, requestsPerUnit: number): void {
    saveManifest(
      manifests,
      `${domain}.yaml`,
      manifestOf(domain, domain, [{ key: "user", rateLimit: { unit: "day", requestsPerUnit } }]),
    );
  }

  /** Every pod that answers has answered the active configuration. */
  async function expectStates(): Promise<void> {
    await eventually("the states of all pods", async () => {
      const { pods = [] } = await replica.rollout();
      expect(
        Object.fromEntries(pods.map(({ nodeId, state, rejection }) => [nodeId, `${state} ${rejection ?? ""}`])),
      ).toEqual({
        "edge/sound": "POD_STATE_ACCEPTED ",
        "edge/refuses-by-name": "POD_STATE_REJECTED default/mail: no such unit",
        "edge/refuses-in-other-words": "POD_STATE_REJECTED out of memory",
        "edge/never-answers": "POD_STATE_PENDING ",
      });
    });
  }

  async function expectLimit(domain: string, limit: number, withinMs?: number): Promise<void> {
    const what = `the limit ${limit} of ${domain}`;
    await eventually(what, async () => expect(await pod.limitOf(domain, { user: "probe" })).toBe(limit), withinMs);
  }
});
