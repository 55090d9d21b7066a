// The webhook of docs/webhook.md in a real API server, over certificates that the operator makes: what kubectl shows, and
// what happens while authorities follow each other and when the webhook is gone.
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect } from "node:tls";

import { createLog } from "@weir/common/log/log";
import { openClusterAccess } from "@weir/kubernetes/access/cluster-access";
import { ApiClient } from "@weir/kubernetes/client/api-client";
import { ObjectClient } from "@weir/kubernetes/client/object-client";
import { readObject } from "@weir/kubernetes/client/kubernetes-object";
import { eventually } from "@weir/harness/processes/eventually";
import { type KubernetesCluster, startKubernetesCluster } from "@weir/harness/kubernetes/kubernetes-cluster";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { CertificateKeeper } from "../certificates/certificate-keeper.ts";
import { OPERATOR_SECRET, readSecret, SECRETS } from "../certificates/certificate-secret.ts";
import { ObjectCache } from "../reconcile/object-cache.ts";
import { newMetrics } from "./webhook-metrics.suite.ts";
import { WebhookServer } from "./webhook-server.ts";

const TIMEOUTS = { answerTimeoutMs: 20_000, silenceTimeoutMs: 20_000, slowAfterMs: 20_000 };
const ROOT = join(import.meta.dirname, "../../..");
const HOST = "127.0.0.1";
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const DOMAIN_LIMIT = "rateLimit: { unit: second, requestsPerUnit: 1 }";

function config(name: string, spec: string): string {
  const head = `apiVersion: ratelimit.weir.dev/v1alpha1\nkind: RateLimitConfig\nmetadata: { name: ${name}, namespace: default }`;
  return `${head}\nspec: ${spec}\n`;
}

/** Only the validator of all rules refuses it: composite keys collide. */
const INVALID = `{ domain: invalid, descriptors: [{ key: a, value: b }, { key: a_b, ${DOMAIN_LIMIT} }] }`;
const PROBLEM =
  'admission webhook "validate.ratelimit.weir.dev" denied the request: spec.descriptors[1].key: ' +
  "duplicate descriptor composite key 'invalid.a_b', first at spec.descriptors[0]";

/** The objects of a cluster without the times at which they were written: the test has a clock of its own. */
function withoutTimes(objects: ObjectClient): Pick<ObjectClient, "get" | "apply"> {
  return {
    apply: (...args) => objects.apply(...args),
    get: async (...args) => {
      const object = await objects.get(...args);
      const metadata = object?.content["metadata"] as { managedFields?: { time?: string }[] } | undefined;
      for (const entry of metadata?.managedFields ?? []) delete entry.time;
      return object;
    },
  };
}

describe("the admission webhook", () => {
  let cluster: KubernetesCluster;
  let client: ApiClient;
  let objects: ObjectClient;
  let server: WebhookServer;
  let keeper: CertificateKeeper;
  let port: number;
  const configs = new ObjectCache();
  const { signal } = new AbortController();
  const realMs = Date.now();
  /** So long ago that the authority is due. */
  let nowMs = realMs - 245 * DAY_MS;
  const log = createLog({ level: "error", format: "json", write: () => undefined });

  async function apply(manifest: string, ...options: readonly string[]) {
    return await cluster.kubectl(["apply", "-f", "-", ...options], manifest);
  }

  /** Does what the leader does, and brings the Secret to the files as a kubelet does. */
  async function keep(): Promise<string> {
    await keeper.reconcile(keeper.key, signal);
    const secret = await objects.get(SECRETS, { namespace: "weir-system", name: OPERATOR_SECRET }, signal);
    const { data } = readSecret(secret!);
    for (const key of ["tls.crt", "tls.key"]) writeFileSync(join(cluster.folder, `webhook-${key}`), data[key] ?? "");
    return data["ca.crt"] ?? "";
  }

  /** The configuration that ships, for a webhook outside of the cluster. */
  function configuration(): string {
    const shipped = readFileSync(join(ROOT, "operator/webhook/validating-webhook.yaml"), "utf8");
    return shipped.replace(/ {6}service:\n(?: {8}.*\n)+/, `      url: https://${HOST}:${port}/validate\n`);
  }

  /** Connects to the webhook as a client that trusts this authority only. */
  async function connectTo(authority: string): Promise<void> {
    const socket = connect({ host: HOST, port, ca: authority });
    await once(socket, "secureConnect").finally(() => socket.destroy());
  }

  async function refuses(): Promise<void> {
    await eventually("the webhook to refuse", async () => {
      const { stderr } = await apply(config("invalid", INVALID), "--dry-run=server");
      expect(stderr).toContain(PROBLEM);
    });
  }

  beforeAll(async () => {
    cluster = await startKubernetesCluster();
    await cluster.installKinds("ratelimitconfigs", "ratelimitservices");
    await cluster.createNamespaces("weir-system");
    const access = await openClusterAccess({ kind: "kubeconfig", paths: [cluster.kubeconfigPath] }, Date.now);
    client = new ApiClient(access, TIMEOUTS, { userAgent: "test" });
    objects = new ObjectClient(client);
    keeper = new CertificateKeeper(
      {
        log,
        clock: () => nowMs,
        objects: withoutTimes(objects),
        events: { record: () => undefined },
        services: () => [],
      },
      {
        namespace: "weir-system",
        clusterDomain: "cluster.local",
        controlPlaneServices: ["weir-control-plane"],
        webhookService: "weir-operator",
        webhookAddresses: [HOST],
      },
    );
    await keep();
    nowMs = realMs - 3 * HOUR_MS;
    const tls = { certPath: join(cluster.folder, "webhook-tls.crt"), keyPath: join(cluster.folder, "webhook-tls.key") };
    const context = {
      clock: Date.now,
      configs,
      services: new ObjectCache(),
      hasPods: (fleet: string) => fleet !== "empty",
    };
    server = new WebhookServer({ log, context, metrics: newMetrics() }, { host: HOST, port: 0, tls });
    await server.start();
    port = server.address()?.port ?? 0;
    await cluster.apply(configuration());
    await keep();
    await refuses();
  });

  afterAll(async () => {
    await server.stop();
    await client.close();
    await cluster.stop();
  });

  it("refuses an apply with the words of the validator, on the client's and on the server's side", async () => {
    for (const options of [[], ["--server-side"], ["--dry-run=server"]]) {
      const { code, stderr } = await apply(config("invalid", INVALID), ...options);
      expect([code, stderr]).toEqual([1, expect.stringContaining(PROBLEM)]);
    }
  });

  it("refuses a RateLimitService with a setting that does not exist", async () => {
    const { code, stderr } = await apply(
      "apiVersion: ratelimit.weir.dev/v1alpha1\nkind: RateLimitService\nmetadata: { name: a, namespace: default }\n" +
        'spec: { backend: { type: memory }, env: [{ name: LOG_LEVL, value: "debug" }] }\n',
    );
    expect([code, stderr]).toEqual([1, expect.stringContaining("spec.env[0].name: unknown setting LOG_LEVL")]);
  });

  it("shows warnings with kubectl, also in a dry run, which stores nothing", async () => {
    const owner = {
      apiVersion: "ratelimit.weir.dev/v1alpha1",
      kind: "RateLimitConfig",
      metadata: {
        namespace: "bank",
        name: "owner",
        uid: "1",
        resourceVersion: "1",
        creationTimestamp: "2026-01-01T00:00:00Z",
      },
      spec: { domain: "shared" },
    };
    configs.put(readObject(owner)!);
    const rules = `[{ key: a, value: "*", ${DOMAIN_LIMIT} }, { key: a, rateLimit: { unit: second, requestsPerUnit: 0 } }]`;
    const manifest = config("warned", `{ domain: shared, fleets: [empty, core], descriptors: ${rules} }`);
    const warnings = [
      'Warning: spec.domain: domain "shared" belongs to bank/owner in fleet "empty": the oldest resource owns a domain',
      'Warning: spec.fleets[0]: no rate limit pod of the fleet "empty" is connected',
      "Warning: spec.descriptors[1]: no request reaches this rule: spec.descriptors[0] takes all that it matches",
      "Warning: spec.descriptors[1].rateLimit.requestsPerUnit: the limit is 0: every request that meets this rule is rejected",
    ];
    const dry = await apply(manifest, "--dry-run=server");
    expect([dry.code, dry.stderr.trim().split("\n")]).toEqual([0, warnings]);
    expect((await cluster.kubectl(["get", "ratelimitconfig", "warned"])).code).toBe(1);
    expect((await apply(manifest)).stderr.trim().split("\n")).toEqual(warnings);
  });

  it("works on while the authorities change", async () => {
    const introduced = await keep();
    const [first = "", next = ""] = introduced.split(/(?<=-----END CERTIFICATE-----\n)/);
    await eventually("the webhook to serve a certificate of the first authority", async () => await connectTo(first));
    await refuses();
    nowMs = realMs - 2 * HOUR_MS;
    const promoted = await keep();
    expect(promoted).toBe(`${next}${first}`);
    await eventually("the webhook to serve a certificate of the next authority", async () => await connectTo(next));
    await refuses();
    const { stdout } = await cluster.kubectl(["get", "validatingwebhookconfiguration", "weir", "-o", "json"]);
    const { webhooks } = JSON.parse(stdout) as { webhooks: [{ clientConfig: { caBundle: string; url: string } }] };
    expect(Buffer.from(webhooks[0].clientConfig.caBundle, "base64").toString()).toBe(promoted);
    expect(webhooks[0].clientConfig.url).toBe(`https://${HOST}:${port}/validate`);
  });

  it("keeps the bundle when the configuration is applied again, and writes it again when it was removed", async () => {
    const caBundle = [
      "get",
      "validatingwebhookconfiguration",
      "weir",
      "-o",
      "jsonpath={.webhooks[0].clientConfig.caBundle}",
    ];
    const before = (await cluster.kubectl(caBundle)).stdout;
    await cluster.apply(configuration());
    expect((await cluster.kubectl(caBundle)).stdout).toBe(before);
    const patch = '[{ "op": "remove", "path": "/webhooks/0/clientConfig/caBundle" }]';
    await cluster.kubectl(["patch", "validatingwebhookconfiguration", "weir", "--type=json", "-p", patch]);
    expect((await cluster.kubectl(caBundle)).stdout).toBe("");
    await keep();
    expect((await cluster.kubectl(caBundle)).stdout).toBe(before);
    await refuses();
  });

  it("lets a change through when it is down, and a label of what is invalid when it is back", async () => {
    await server.stop();
    expect(await apply(config("invalid", INVALID))).toMatchObject({ code: 0 });
    const tls = { certPath: join(cluster.folder, "webhook-tls.crt"), keyPath: join(cluster.folder, "webhook-tls.key") };
    const context = { clock: Date.now, configs, services: new ObjectCache(), hasPods: () => undefined };
    server = new WebhookServer({ log, context, metrics: newMetrics() }, { host: HOST, port, tls });
    await server.start();
    await eventually("the webhook to warn", async () => {
      const { code, stderr } = await cluster.kubectl(["label", "ratelimitconfig", "invalid", "a=b", "--overwrite"]);
      expect(code).toBe(0);
      expect(stderr).toContain("Warning: spec.descriptors[1].key: duplicate descriptor composite key");
    });
    expect((await cluster.kubectl(["delete", "ratelimitconfig", "invalid"])).code).toBe(0);
  });
});
