// Tests the notes that Helm prints after an installation: how many pods there are, the Secrets that they wait
// for, and steps in order.
import { fieldsOf } from "@weir/kubernetes/mapping";
import { renderChart } from "@weir/harness/helm/render";
import { describe, expect, it } from "vitest";

/** An object with the notes, which `helm template` does not print. */
const NOTES = {
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "notes-of-test" },
  data: { notes: '{{ include (print .Template.BasePath "/NOTES.txt") . | b64enc }}' },
};

async function notesOf(chart: string, values: object): Promise<string> {
  const rendered = await renderChart({ chart, values: { ...values, extraObjects: [NOTES] } });
  const { notes } = fieldsOf(rendered.only("ConfigMap", "notes-of-test")["data"]);
  return Buffer.from(String(notes), "base64").toString();
}

const REDIS = { type: "redis", redis: { type: "single", single: { address: "redis:6379" } } };

describe("the notes of the chart weir", () => {
  it.each([
    {
      what: "the defaults",
      values: {},
      parts: ["2 pods of the operator, and 2 pods of the control plane", "are in the memory of 1 pod."],
    },
    {
      what: "one replica and another number",
      values: { operator: { replicas: 1 }, controlPlane: { replicas: 3 } },
      parts: ["1 pod of the operator, and 3 pods of the control plane"],
    },
    {
      what: "many pods that count by themselves",
      values: {
        rateLimitService: { spec: { replicas: 3, backend: { memory: { allowUnsharedCounters: true } } } },
      },
      parts: ["are in the memory of 3 pods."],
    },
    {
      what: "certificates of others",
      values: {
        certificates: { source: "external", webhookCaBundle: "YQ==" },
        rateLimitService: { spec: { backend: REDIS, controlPlane: { certificateSecret: "edge" } } },
      },
      parts: ["wait for 3 Secrets in weir-system: weir-control-plane-tls, weir-operator-tls, edge."],
    },
    {
      what: "certificates of others without a data plane",
      values: {
        certificates: { source: "external" },
        webhook: { enabled: false },
        rateLimitService: { create: false },
      },
      parts: ["wait for 2 Secrets in weir-system: weir-control-plane-tls, weir-operator-tls."],
    },
  ])("count $what", async ({ values, parts }) => {
    const notes = await notesOf("weir", values);
    for (const part of parts) expect(notes).toContain(part);
  });

  it.each([true, false])("number the steps, with a RateLimitService: %s", async (create) => {
    const notes = await notesOf("weir", { rateLimitService: { create } });
    expect(notes.match(/^\d(?=\. )/gm)).toEqual(["1", "2", "3"]);
  });
});

describe("the notes of the chart weir-account", () => {
  const ORIGIN = { publicOrigin: "https://account.example.com" };

  it.each([
    { what: "one pod", values: ORIGIN, part: "1 pod, which needs the Secret weir-account-keys." },
    {
      what: "pods with Secrets of others",
      values: {
        ...ORIGIN,
        replicas: 3,
        keys: { existingSecret: "keys" },
        store: { type: "mongo", mongo: { existingSecret: "users" } },
        media: { type: "s3", s3: { bucket: "avatars", existingSecret: "keys" } },
      },
      part: "3 pods, which need the Secrets keys, users.",
    },
  ])("count $what", async ({ values, part }) => {
    expect(await notesOf("weir-account", values)).toContain(part);
  });
});
