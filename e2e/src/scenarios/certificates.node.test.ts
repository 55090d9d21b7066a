// An authority of the installed operator follows another, stage by stage, while the pods run: each of them gets the changed
// Secrets from the kubelet, and none is restarted. Connections of rate limit pods live for two seconds, so that each stage is
// tried with new handshakes.
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect } from "node:tls";

import { createAuthority } from "@weir/certificates/authority";
import { eventually } from "@weir/harness/processes/eventually";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { type NodePod, SYSTEM_NAMESPACE } from "@weir/harness/node/node-access";
import { podUrl, startInstalledNode } from "@weir/harness/node/product";
import type { RealNode } from "@weir/harness/node/real-node";
import { manifestOf } from "@weir/harness/weir/weir";
import { PodClient } from "@weir/harness/weir/pod";

/** Longest wait for the operator's next look at the certificates, once a minute, and for the kubelet, in milliseconds. */
const STAGE_TIMEOUT_MS = 120_000;

/** Time limit of a test, in milliseconds. */
const TEST_MS = 300_000;

const AUTHORITY = "weir-ca";
const TRUSTED_SINCE = "ratelimit.weir.dev/next-trusted-since";
const ADS_PORT = 18_000;
const HOUR_MS = 3_600_000;

describe("certificates that change under running pods", () => {
  let node: RealNode;
  let pods: readonly NodePod[];
  let limit = 0;
  let [first, next] = ["", ""];

  beforeAll(async () => {
    // Under other names than usual: certificates and all that is found by a name are for them.
    node = await startInstalledNode(
      "--set",
      "controlPlane.settings.ADS_MAX_CONNECTION_AGE=2s,fullnameOverride=limits,webhook.failurePolicy=Fail",
    );
    await node.kubectl(["wait", "--for=condition=Ready", "rls/ratelimit", "-n", SYSTEM_NAMESPACE, "--timeout=200s"]);
    pods = (await Promise.all(["weir-control-plane", "weir-ratelimit"].map((name) => node.pods(name)))).flat();
    first = (await node.secret(SYSTEM_NAMESPACE, AUTHORITY))["tls.crt"] ?? "";
  });

  afterAll(async () => {
    await (node as RealNode | undefined)?.stop(); // Not there when it did not start.
  });

  /** Writes into the authority's Secret in the name of the operator, which so owns what it removes later. */
  async function writeAuthority(changes: Readonly<Record<string, string>>, annotations = {}): Promise<void> {
    const data = { ...(await node.secret(SYSTEM_NAMESPACE, AUTHORITY)), ...changes };
    const labels = { "app.kubernetes.io/managed-by": "weir-operator" };
    const encoded = Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString("base64")]);
    const object = {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: AUTHORITY, namespace: SYSTEM_NAMESPACE, labels, annotations },
      data: Object.fromEntries(encoded) as object,
    };
    const apply = ["apply", "--server-side", "--force-conflicts", "--field-manager=weir-operator", "-f", "-"];
    await node.kubectl(apply, JSON.stringify(object));
    // A change of any RateLimitService lets the operator look at all certificates.
    await node.kubectl(["annotate", "rls/ratelimit", "-n", SYSTEM_NAMESPACE, "--overwrite", `look=${Date.now()}`]);
  }

  /** Waits until the files of every pod have these authorities, and a limit reaches the rate limit pods over new connections. */
  async function expectStage(authorities: readonly string[]): Promise<void> {
    for (const { name, namespace } of pods) {
      const cat = ["exec", "-n", namespace, name, "--", "cat", "/etc/weir/tls/ca.crt"];
      const attempt = async (): Promise<void> => expect(await node.kubectl(cat)).toBe(authorities.join(""));
      await eventually(`the authorities in ${name}`, attempt, STAGE_TIMEOUT_MS);
    }
    for (const pod of await node.pods("weir-control-plane"))
      await eventually(`the certificate of ${pod.name}`, async () => {
        const { "tls.crt": certificate = "" } = await node.secret(SYSTEM_NAMESPACE, "weir-control-plane-tls");
        expect(await servedFingerprint(pod.address)).toBe(new X509Certificate(certificate).fingerprint256);
      });
    const [pod] = await node.pods("weir-ratelimit");
    const before = adsPorts(pod!);
    await eventually("a new connection", () => {
      const now = adsPorts(pod!);
      expect(now.length).toBeGreaterThan(0);
      for (const port of now) expect(before).not.toContain(port);
    });
    limit += 1;
    const rule = { key: "user", rateLimit: { unit: "year", requestsPerUnit: limit } };
    await node.kubectl(["apply", "-n", SYSTEM_NAMESPACE, "-f", "-"], manifestOf("d", "d", [rule]));
    await eventually("the limit", async () =>
      expect(await new PodClient(podUrl(pod!)).limitOf("d", { user: "ann" })).toBe(limit),
    );
    for (const each of pods) expect((await node.pod(each)).restarts).toBe(each.restarts);
  }

  /** Local ports of the connections of a pod to a control plane. */
  function adsPorts(pod: NodePod): readonly string[] {
    const [pid] = node.processesOf(pod);
    const established = readFileSync(`/proc/${pid}/net/tcp`, "utf8").matchAll(/:([0-9A-F]{4}) [0-9A-F]{8}:4650 01/g);
    return [...established].map(([, port = ""]) => port);
  }

  it("begins with the first authority", async () => await expectStage([first]), TEST_MS);

  it(
    "continues when the next authority is in every bundle",
    async () => {
      const made = await createAuthority({ commonName: "next", now: new Date(), validDays: 365 });
      next = made.certPem;
      await writeAuthority({ "next.crt": made.certPem, "next.key": made.keyPem });
      await expectStage([first, next]);
    },
    TEST_MS,
  );

  it(
    "continues when the next authority signs",
    async () => {
      const { "ratelimit.crt": before } = await node.secret(SYSTEM_NAMESPACE, "weir-ratelimit-tls");
      await writeAuthority({}, { [TRUSTED_SINCE]: new Date(Date.now() - 2 * HOUR_MS).toISOString() });
      await expectStage([next, first]);
      const { "ratelimit.crt": after } = await node.secret(SYSTEM_NAMESPACE, "weir-ratelimit-tls");
      expect(after).not.toBe(before);
    },
    TEST_MS,
  );

  it(
    "continues when the first authority is gone, which shows that the new certificates are in use",
    async () => {
      await writeAuthority({ "ca.crt": next });
      await expectStage([next]);
    },
    TEST_MS,
  );
});

/** The certificate that a control plane shows to clients. */
async function servedFingerprint(host: string): Promise<string> {
  const socket = connect({ host, port: ADS_PORT, rejectUnauthorized: false });
  socket.on("error", () => undefined); // It refuses a client without a certificate after the handshake.
  try {
    await once(socket, "secureConnect");
    return socket.getPeerCertificate().fingerprint256;
  } finally {
    socket.destroy();
  }
}
