// Tests of the CRD on a real API server: which manifests it accepts and rejects, with which
// messages, in comparison with readManifests(), and the output of kubectl.
import { readFileSync } from "node:fs";

import { eventually } from "@weir/harness/processes/eventually";
import { type KubernetesCluster, startKubernetesCluster } from "@weir/harness/kubernetes/kubernetes-cluster";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { readManifests } from "../manifest/manifest.ts";
import { ACCEPTED } from "./server-accepted.suite.ts";
import { manifest, ruleAt } from "./server-case.suite.ts";
import { DIFFERENT } from "./server-different.suite.ts";
import { applyRefusalBy, shortRefusalBy } from "./server-dry-run.suite.ts";
import { NULLS } from "./server-nulls.suite.ts";
import { pathAt } from "./server-messages.suite.ts";
import { REFUSED, REFUSED_AT_EVERY_LEVEL, REFUSED_OBJECTS } from "./server-refused.suite.ts";
import { REFUSED_LIMITS } from "./server-refused-limits.suite.ts";

const CRD = readFileSync(new URL("../../../crds/ratelimitconfigs.yaml", import.meta.url), "utf8");
const CRD_NAME = "crd/ratelimitconfigs.ratelimit.weir.dev";

/** Longest waits for the server to have taken in the CRD, in milliseconds. */
const ESTABLISHED_TIMEOUT_MS = 60_000;

let cluster: KubernetesCluster;
beforeAll(async () => {
  cluster = await startKubernetesCluster();
  await cluster.installKinds("ratelimitconfigs");
});
afterAll(async () => {
  await cluster.stop();
});

/** The error of the server, without the parts that are in every error. */
async function refusalOf(text: string): Promise<string | undefined> {
  return await shortRefusalBy(cluster.api, text);
}

function isValid(text: string): boolean {
  return readManifests(text).every(({ problems }) => problems.length === 0);
}

describe("the API server", () => {
  it.each(ACCEPTED)("accepts %s, and so does readManifests()", async (_, text) => {
    expect({ refusal: await refusalOf(text), isValid: isValid(text) }).toEqual({ refusal: undefined, isValid: true });
  });

  it.each([...REFUSED, ...REFUSED_OBJECTS, ...REFUSED_LIMITS])(
    "refuses %s, and so does readManifests()",
    async (_, text, refusal) => {
      expect({ refusal: await refusalOf(text), isValid: isValid(text) }).toEqual({ refusal, isValid: false });
    },
  );

  it.each(REFUSED_AT_EVERY_LEVEL)("names field and reason of %s at every level", async (_, fields, refusal) => {
    const levels = [1, 2, 3, 4, 5, 6];
    const found = await Promise.all(levels.map(async (level) => await refusalOf(ruleAt(level, fields))));
    expect(found).toEqual(levels.map((level) => refusal.replaceAll("RULE", pathAt(level))));
    expect(levels.map((level) => isValid(ruleAt(level, fields)))).toEqual(levels.map(() => false));
  });

  it.each(NULLS)("rejects the field $refused in a server-side apply of $text", async ({ text, refused, isCreated }) => {
    const [applied, created] = await Promise.all([applyRefusalBy(cluster.api, "x", text), refusalOf(text)]);
    const problems = readManifests(text).flatMap((document) => document.problems);
    const warnings = readManifests(text).flatMap((document) => document.warnings ?? []);
    expect({
      applied: /spec[^:]*(?=: Invalid value: "null")/.exec(applied ?? "")?.[0],
      isCreated: created === undefined,
    }).toEqual({
      applied: refused,
      isCreated,
    });
    // A manifest that the server creates is valid; a warning names what only server-side apply rejects.
    const found = { problems, warnings };
    const expected = refused === undefined ? [] : [refused];
    expect(found[isCreated ? "warnings" : "problems"].map(({ field }) => field)).toEqual(expected);
    expect(found[isCreated ? "problems" : "warnings"]).toEqual([]);
  });

  it.each(DIFFERENT)("disagrees with readManifests() on %s: %s", async (_, _reason, text, refusal) => {
    expect({ refusal: await refusalOf(text), isValid: isValid(text) }).toEqual({
      refusal,
      isValid: refusal !== undefined,
    });
  });

  it("stores 0 requests, which are not the same as none", async () => {
    await cluster.apply(
      manifest(
        "{ domain: zero, descriptors: [{ key: k, rateLimit: { unit: second, requestsPerUnit: 0 } }] }",
        "name: zero",
      ),
    );
    const stored = await cluster.kubectl(["get", "rlc", "zero", "-o", "jsonpath={.spec.descriptors[0].rateLimit}"]);
    expect(JSON.parse(stored.stdout)).toEqual({ unit: "second", requestsPerUnit: 0 });
  });

  it("adds the empty value to rules without one, and nothing else", async () => {
    await cluster.apply(
      manifest("{ domain: bare, descriptors: [{ key: k, descriptors: [{ key: l }] }] }", "name: bare"),
    );
    const stored = await cluster.kubectl(["get", "rlc", "bare", "-o", "jsonpath={.spec}"]);
    expect(JSON.parse(stored.stdout)).toEqual({
      domain: "bare",
      descriptors: [{ key: "k", value: "", descriptors: [{ key: "l", value: "" }] }],
    });
  });

  it("refuses with kubectl what it refuses without", async () => {
    await expect(
      cluster.apply(manifest("{ domain: d, descriptors: [{ key: k, rateLimit: { unit: day } }] }")),
    ).rejects.toThrow(
      "spec.descriptors[0].rateLimit.requestsPerUnit: Required value: requestsPerUnit is required, unless unlimited is true; 0 rejects every request",
    );
  });
});

describe("the CRD", () => {
  it("is established, and structural", async () => {
    const { stdout } = await cluster.kubectl(["get", CRD_NAME, "-o", "jsonpath={.status.conditions}"]);
    const conditions = JSON.parse(stdout) as readonly { readonly type: string; readonly status: string }[];
    expect(conditions.map(({ type, status }) => `${type} ${status}`).toSorted()).toEqual([
      "Established True",
      "NamesAccepted True",
    ]);
  });

  it("is small enough for client-side apply, too: that keeps a copy of it in an annotation of at most 256 KiB", () => {
    expect(CRD.length).toBeLessThan(128 * 1024);
  });

  it("has a short name and a category", async () => {
    await cluster.apply(manifest("{ domain: listed }", "name: listed"));
    expect((await cluster.kubectl(["get", "rlc", "listed", "-o", "name"])).stdout).toBe(
      "ratelimitconfig.ratelimit.weir.dev/listed\n",
    );
    expect((await cluster.kubectl(["get", "weir", "-o", "name"])).stdout).toContain(
      "ratelimitconfig.ratelimit.weir.dev/listed\n",
    );
  });

  it("selects by domain in every namespace", async () => {
    await cluster.createNamespaces("other");
    await cluster.apply(manifest("{ domain: shop }", "name: mine"));
    await cluster.apply(manifest("{ domain: shop }", "name: theirs, namespace: other"));
    await cluster.apply(manifest("{ domain: login }", "name: unrelated"));
    const { stdout } = await cluster.kubectl([
      "get",
      "rlc",
      "-A",
      "--field-selector",
      "spec.domain=shop",
      "-o",
      "name",
    ]);
    expect(stdout).toBe("ratelimitconfig.ratelimit.weir.dev/mine\nratelimitconfig.ratelimit.weir.dev/theirs\n");
  });
});

describe("kubectl", () => {
  it("shows domain, status and, when asked, fleets in kubectl get", async () => {
    await cluster.apply(manifest("{ domain: columns, fleets: [edge, core] }", "name: columns"));
    const patched = await cluster.kubectl([
      "patch",
      "rlc",
      "columns",
      "--subresource=status",
      "--type=merge",
      "-p",
      JSON.stringify({ status: STATUS }),
    ]);
    expect(patched).toMatchObject({ code: 0 });
    const shown = async (...flags: readonly string[]): Promise<readonly string[]> => {
      const { stdout } = await cluster.kubectl(["get", "rlc", "columns", ...flags]);
      return stdout.split("\n").map((line) => line.trim().split(/\s+/).join(" "));
    };
    const [head, row] = await shown();
    expect(head).toBe("NAME DOMAIN ACCEPTED PROGRAMMED PODS REASON SHADOW AGE");
    expect(row).toMatch(/^columns columns True False 2\/3 RejectedByDataPlane \d+s$/);
    const [wideHead, wideRow] = await shown("-o", "wide");
    expect(wideHead).toBe("NAME DOMAIN ACCEPTED PROGRAMMED PODS REASON SHADOW FLEETS AGE");
    expect(wideRow).toMatch(/^columns columns True False 2\/3 RejectedByDataPlane \["edge","core"\] \d+s$/);
  });

  it("writes a status without changing the generation, and keeps conditions of other writers", async () => {
    await cluster.apply(manifest("{ domain: written }", "name: written"));
    const condition = (type: string): string =>
      `apiVersion: ratelimit.weir.dev/v1alpha1\nkind: RateLimitConfig\nmetadata: { name: written }\nstatus: { conditions: [{ type: ${type}, status: "True", reason: Valid, message: "", lastTransitionTime: "2026-01-31T12:00:00Z" }] }\n`;
    for (const type of ["Accepted", "Programmed"]) {
      const args = [
        "apply",
        "--server-side",
        "--subresource=status",
        `--field-manager=${type}`,
        "--validate=strict",
        "-f",
        "-",
      ];
      expect(await cluster.kubectl(args, condition(type))).toMatchObject({ code: 0 });
    }
    const stored = JSON.parse((await cluster.kubectl(["get", "rlc", "written", "-o", "json"])).stdout) as {
      metadata: { generation: number };
      status: { conditions: { type: string }[] };
    };
    expect(stored.metadata.generation).toBe(1);
    expect(stored.status.conditions.map(({ type }) => type)).toEqual(["Accepted", "Programmed"]);
  });

  it("explains rules", async () => {
    await eventually(
      "the server to publish the schema",
      async () =>
        expect((await cluster.kubectl(["explain", "rlc.spec.descriptors"])).stdout).toContain("FIELD: descriptors"),
      ESTABLISHED_TIMEOUT_MS,
    );
    const { stdout } = await cluster.kubectl(["explain", "rlc.spec.descriptors"]);
    const text = stdout.split(/\s+/).join(" ");
    expect(text).toContain(
      "rules nest at most 6 levels deep, and no two of one level may have the same key and value.",
    );
    expect(text).toContain("key <string> -required- Key that the entry of a request's descriptor must have.");
    expect(text).toContain("shadowMode <boolean> Count, but let every request pass: for trying a limit out.");
    const unit = (await cluster.kubectl(["explain", "rlc.spec.descriptors.rateLimit.unit"])).stdout
      .split(/\s+/)
      .join(" ");
    expect(unit).toContain(
      "ENUM: second minute hour day week month year DESCRIPTION: Length of the window in which requests are counted",
    );
    // Among other fields kubectl names the first four values only.
    const units = (await cluster.kubectl(["explain", "rlc.spec.descriptors.rateLimit"])).stdout.split(/\s+/).join(" ");
    expect(units).toContain("second, minute, hour, day, week, month (30 days) or year (365 days)");
  });
});

/** A status as the operator writes it, with every field. */
const STATUS = {
  observedGeneration: 1,
  conditions: [
    { type: "Accepted", status: "True", reason: "Valid" },
    { type: "Programmed", status: "False", reason: "RejectedByDataPlane" },
    { type: "Ready", status: "False", reason: "RejectedByDataPlane" },
  ].map((condition) => ({
    ...condition,
    message: "",
    observedGeneration: 1,
    lastTransitionTime: "2026-01-31T12:00:00Z",
  })),
  domain: "columns",
  servesLastGood: true,
  pods: { total: 3, accepted: 2, rejected: 1, pending: 0, summary: "2/3" },
  fleets: [{ name: "*", version: "9f2c", total: 3, accepted: 2, rejected: 1, pending: 0 }],
  problems: [{ field: "spec.descriptors[0].key", message: "must not be empty" }],
  // Of one name in two namespaces.
  rejections: ["gateway/pod-7", "edge/pod-7", "edge/pod-7"].map((pod) => ({ pod, message: "unknown unit" })),
};
