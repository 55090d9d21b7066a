// Both flows with the real programs: manifests → control plane → mutual TLS → pod, and requests → pod →
// answers.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import type { ServiceError } from "@grpc/grpc-js";
import { credentials, makeGenericClientConstructor } from "@grpc/grpc-js";
import type { RateLimitRequest, RateLimitResponse } from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";
import {
  RateLimitRequestSchema,
  RateLimitResponse_Code as Code,
  RateLimitResponse_RateLimit_Unit as Unit,
  RateLimitService,
} from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";
import { serviceDefinition } from "@weir/proto/grpc/service-definition";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "@weir/harness/processes/eventually";
import { type Weir, manifestOf, startWeir } from "@weir/harness/weir/weir";
import type { Pod } from "@weir/harness/weir/pod";
import { ROOT } from "@weir/harness/processes/programs";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { ensureCertificates } from "@weir/dev/setup/certificates";

describe("the two flows", () => {
  const folder = makeTemporaryFolder();
  let flow: Weir;
  let pod: Pod;

  beforeAll(async () => {
    flow = await startWeir(folder.path, { manifests: { "mail.yaml": mail(2), "search.yaml": search(5) } });
    pod = await flow.startPod();
  });

  afterAll(async () => {
    await flow.stop();
    folder.remove();
  });

  it("answers 200, 200, 429 over /json with the documented body", async () => {
    const answers = [];
    for (let request = 0; request < 3; request++) answers.push(await askJson("json"));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
    expect(answers.map(({ body }) => body.overallCode)).toEqual(["OK", "OK", "OVER_LIMIT"]);
    expect(answers[0]!.body.statuses).toEqual([
      {
        code: "OK",
        currentLimit: { requestsPerUnit: 2, unit: "YEAR" },
        limitRemaining: 1,
        durationUntilReset: expect.stringMatching(/^\d+s$/) as string,
      },
    ]);
    expect(answers[2]!.body.statuses).toEqual([
      {
        code: "OVER_LIMIT",
        currentLimit: { requestsPerUnit: 2, unit: "YEAR" },
        durationUntilReset: expect.stringMatching(/^\d+s$/) as string,
      },
    ]);
  });

  it("answers OK, OK, OVER_LIMIT over gRPC", async () => {
    const answers: RateLimitResponse[] = [];
    for (let request = 0; request < 3; request++) answers.push(await askGrpc("grpc"));
    expect(answers.map(({ overallCode }) => overallCode)).toEqual([Code.OK, Code.OK, Code.OVER_LIMIT]);
    expect(answers[0]!.statuses[0]).toMatchObject({
      code: Code.OK,
      limitRemaining: 1,
      currentLimit: { requestsPerUnit: 2, unit: Unit.YEAR },
    });
  });

  it("counts the requests of both transports together", async () => {
    expect((await askJson("both")).status).toBe(200);
    expect((await askGrpc("both")).overallCode).toBe(Code.OK);
    expect((await askJson("both")).status).toBe(429);
  });

  it("reports the ACK of the pod", async () => {
    await eventually("the ACK to be reported", async () => {
      const { pods, troubles } = await flow.status();
      expect(troubles).toEqual([]);
      expect(pods).toHaveLength(1);
      expect(pods[0]).toMatchObject({ accepted: expect.stringMatching(/./) as string, rejected: undefined });
    });
  });

  it("has a page that explains every metric of the control plane, and no other", async () => {
    const reported = [...(await flow.controlPlane.metrics()).matchAll(/^# TYPE (weir_\w+) /gm)].map(([, name]) => name);
    const explained = [...readFileSync(join(ROOT, "docs/rollout.md"), "utf8").matchAll(/^\| (`weir_.*?) +\|/gm)];
    const names = explained.flatMap(([, cell = ""]) => [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name));
    // Those of the Kubernetes source do not exist when a folder is read.
    const ofClusters = ["weir_source_lists_total", "weir_source_watches_total", "weir_source_failures_total"];
    expect(names.toSorted()).toEqual([...reported, ...ofClusters].toSorted());
  });

  it("applies an edited manifest under a new version", async () => {
    const before = (await flow.status()).pods[0]!.accepted;
    await editMail(4);
    const statuses: number[] = [];
    for (let request = 0; request < 6; request++) statuses.push((await askJson("edited")).status);
    expect(statuses).toEqual([200, 200, 200, 200, 429, 429]);
    await eventually("the status to show it", async () =>
      expect((await flow.status()).pods[0]!.accepted).not.toBe(before),
    );
  });

  it("keeps the old limits when a manifest is broken, and names file, line, field and reason", async () => {
    const before = (await flow.status()).pods[0]!.accepted;
    flow.writeManifest("mail.yaml", mail(9).replace("unit: year", "unit: fortnight"));
    const trouble = await eventually("the trouble to be reported", async () => {
      const { troubles } = await flow.status();
      expect(troubles).toHaveLength(1);
      return troubles[0]!;
    });
    expect(trouble.place).toMatch(/mail\.yaml:13\b/);
    expect(trouble.field).toBe("spec.descriptors[0].descriptors[0].rateLimit.unit");
    expect(trouble.message).toContain("fortnight");
    // The limit before the mistake, not the one next to it, and not none.
    expect(await limitOfMail("broken")).toBe(4);
    expect((await flow.status()).pods[0]!.accepted).toBe(before);
  });

  it("continues to take edits of the other manifests while one is broken", async () => {
    flow.writeManifest("search.yaml", search(8));
    await eventually("the edited limit to be active", async () => expect(await limitOfSearch()).toBe(8));
    expect(await limitOfMail("still-broken")).toBe(4);
  });

  it("keeps the old limits when the file is no YAML at all", async () => {
    flow.writeManifest("mail.yaml", "apiVersion: [unclosed\n");
    await eventually("the trouble to be reported", async () => {
      const { troubles } = await flow.status();
      expect(troubles[0]!.place).toMatch(/mail\.yaml:\d+/);
      expect(troubles[0]!.field).toBe("");
    });
    expect(await limitOfMail("no-yaml")).toBe(4);
  });

  it("takes the manifest again when it is fixed", async () => {
    flow.writeManifest("mail.yaml", mail(3));
    await eventually("the fixed limit to be active", async () =>
      expect((await askJson("fixed")).body.statuses[0]!.currentLimit.requestsPerUnit).toBe(3),
    );
    await eventually("the end of the trouble", async () => expect((await flow.status()).troubles).toEqual([]));
  });

  it("takes an edit by an editor that empties the file first", async () => {
    for (const requestsPerUnit of [11, 12, 13]) {
      flow.overwriteManifest("mail.yaml", mail(requestsPerUnit));
      await eventually("the edited limit to be active", async () =>
        expect(await limitOfMail("overwritten")).toBe(requestsPerUnit),
      );
    }
    flow.overwriteManifest("mail.yaml", mail(3));
    await eventually("the old limit to be active again", async () => expect(await limitOfMail("overwritten")).toBe(3));
  });

  it("keeps every limit while the control plane is down, and takes the edits of that time", async () => {
    await flow.killControlPlane();
    expect(await limitOfMail("alone")).toBe(3);
    flow.writeManifest("mail.yaml", mail(6));
    expect(await limitOfMail("alone")).toBe(3);
    await flow.startControlPlane();
    await eventually("the edited limit to be active", async () => expect(await limitOfMail("alone")).toBe(6));
    flow.writeManifest("mail.yaml", mail(3));
    await eventually("the old limit to be active again", async () => expect(await limitOfMail("alone")).toBe(3));
  });

  it("sends nothing to a pod whose certificate another authority signed", async () => {
    const foreign = await ensureCertificates(join(folder.path, "foreign"), {
      hostNames: ["localhost"],
      now: new Date(),
    });
    const stranger = await flow.startPod({
      CONFIG_GRPC_XDS_NODE_ID: "default/stranger",
      CONFIG_GRPC_XDS_CLIENT_TLS_CERT: foreign.rateLimit.cert,
      CONFIG_GRPC_XDS_CLIENT_TLS_KEY: foreign.rateLimit.key,
      FORCE_START_WITHOUT_INITIAL_CONFIG: "true",
      HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED: "false",
    });
    await eventually("the refusal to be logged", () =>
      expect(stranger.process.lastLines().join("\n")).toContain("Cannot connect to the configuration server"),
    );
    expect(await stranger.ask("mail", { action: "reset", account: "stranger" })).toBe(503);
    expect((await flow.status()).pods.map(({ id }) => id)).toEqual(["default/ratelimit-1"]);
    await stranger.process.stop("SIGTERM", 5000);
  });

  it("ends the limits of a manifest that is deleted", async () => {
    flow.removeManifest("search.yaml");
    await eventually("the end of the limit", async () => expect(await limitOfSearch()).toBeUndefined());
    expect(await limitOfMail("others-stay")).toBe(3);
  });

  it("sends a second pod the same version", async () => {
    const second = await flow.startPod({ CONFIG_GRPC_XDS_NODE_ID: "default/second" });
    expect(await second.ask("mail", { action: "reset", account: "second" })).toBe(200);
    await eventually("both pods to ACK one version", async () => {
      const { pods } = await flow.status();
      expect(pods).toHaveLength(2);
      expect(pods[0]!.accepted).toBe(pods[1]!.accepted);
    });
    await second.process.stop("SIGTERM", 5000);
  });

  interface JsonStatus {
    readonly code: string;
    readonly currentLimit: { readonly requestsPerUnit: number; readonly unit: string };
    readonly limitRemaining?: number;
  }

  async function askJson(
    account: string,
  ): Promise<{ status: number; body: { overallCode: string; statuses: JsonStatus[] } }> {
    return post("mail", { action: "reset", account });
  }

  async function editMail(requestsPerUnit: number): Promise<void> {
    flow.writeManifest("mail.yaml", mail(requestsPerUnit));
    await eventually("the edited limit to be active", async () =>
      expect(await limitOfMail("probe")).toBe(requestsPerUnit),
    );
  }

  async function limitOfMail(account: string): Promise<number> {
    return (await askJson(account)).body.statuses[0]!.currentLimit.requestsPerUnit;
  }

  async function limitOfSearch(): Promise<number | undefined> {
    const { body } = await post("search", { tenant: "acme" });
    return (body.statuses[0] as Partial<JsonStatus> | undefined)?.currentLimit?.requestsPerUnit;
  }

  async function post(
    domain: string,
    entries: Readonly<Record<string, string>>,
  ): Promise<{ status: number; body: { overallCode: string; statuses: JsonStatus[] } }> {
    const descriptor = { entries: Object.entries(entries).map(([key, value]) => ({ key, value })) };
    const response = await fetch(`${pod.httpUrl}/json`, {
      method: "POST",
      body: JSON.stringify({ domain, descriptors: [descriptor] }),
    });
    return {
      status: response.status,
      body: (await response.json()) as { overallCode: string; statuses: JsonStatus[] },
    };
  }

  function askGrpc(account: string): Promise<RateLimitResponse> {
    const Client = makeGenericClientConstructor(serviceDefinition(RateLimitService), "RateLimitService");
    const client = new Client(`127.0.0.1:${pod.grpcPort}`, credentials.createInsecure());
    const entries = [
      { key: "action", value: "reset" },
      { key: "account", value: account },
    ];
    const request = create(RateLimitRequestSchema, { domain: "mail", descriptors: [{ entries }] });
    type Call = (
      request: RateLimitRequest,
      reply: (error: ServiceError | null, response?: RateLimitResponse) => void,
    ) => void;
    return new Promise((resolve, reject) => {
      (client["shouldRateLimit"] as Call).call(client, request, (error, response) => {
        client.close();
        if (error === null && response !== undefined) resolve(response);
        else reject(error ?? new Error("There was no response"));
      });
    });
  }
});

function mail(requestsPerUnit: number): string {
  return manifestOf("mail", "mail", [
    { key: "action", value: "reset", descriptors: [{ key: "account", rateLimit: { unit: "year", requestsPerUnit } }] },
  ]);
}

function search(requestsPerUnit: number): string {
  return manifestOf("search", "search", [{ key: "tenant", rateLimit: { unit: "year", requestsPerUnit } }]);
}
