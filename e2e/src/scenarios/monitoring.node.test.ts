// The alerts and dashboards of the charts, on the metrics of an installed Weir in a real Prometheus: no alert is active
// while the system is healthy, and each one fires when the test breaks what it is about.
import { globSync, readFileSync } from "node:fs";
import { Agent, request } from "node:https";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { SAMPLE_AVATAR } from "@weir/dev/output/guide";
import { eventually } from "@weir/harness/processes/eventually";
import { type NodePod, SYSTEM_NAMESPACE } from "@weir/harness/node/node-access";
import { type MonitoredSystem, startMonitoredSystem } from "@weir/harness/node/monitored-system";
import {
  MONITORING_NAMESPACE,
  type Prometheus,
  shortenRanges,
  shortenRules,
  startPrometheus,
} from "@weir/harness/node/prometheus";
import { RateLimitClient } from "@weir/harness/servers/rate-limit-client";
import { Traffic } from "@weir/harness/weir/traffic";
import { ROOT } from "@weir/harness/processes/programs";
import { manifestOf } from "@weir/harness/weir/weir";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

/** Evaluations of the rules, one a second, after which a healthy system has shown that no alert fires. */
const HEALTHY_EVALUATIONS_MS = 5000;

/** Longest time from `helm install` until every panel of a healthy system has data, in milliseconds. */
const FILLED_MAX_MS = 90_000;

/** Longest wait for the alerts of one step, in milliseconds. */
const FIRING_TIMEOUT_MS = 90_000;

/** Time limit of a step, in milliseconds. */
const STEP_TIMEOUT_MS = 150_000;

/** Longest wait for an answer, in milliseconds. */
const CALL_TIMEOUT_MS = 5000;

/** Pause between two rounds of traffic, in milliseconds. */
const PAUSE_MS = 200;

/** Rules that the API server accepts and the control plane does not: two with one counter. */
const TWINS = [{ key: "user", value: "a" }, { key: "user_a" }];

const ALERT_FILES = globSync("charts/*/alerts/*.yaml", { cwd: ROOT }).map((path) =>
  readFileSync(join(ROOT, path), "utf8"),
);

/** Longer than the whole test; shorter makes the queries faster. */
const WHOLE_TEST = "10m";

/** A label of legends that only the limits of a list have; ratelimit/src/statistics/pull/snapshot.test.ts shows it. */
const LIST_LABEL = "limit";

/** Metrics that the system does not have, because it has no memcached. */
const WITHOUT_DATA: ReadonlySet<string> = new Set(
  ["multiget", "increment", "add"].map((command) => `ratelimit_memcache_${command}_total`),
);

/** The queries of the panels of all dashboards. */
const TARGETS = globSync("charts/*/dashboards/*.json", { cwd: ROOT }).flatMap((path) => {
  const { panels } = JSON.parse(readFileSync(join(ROOT, path), "utf8")) as {
    panels: { title: string; targets?: { expr: string; legendFormat: string }[] }[];
  };
  return panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr, legendFormat }) => ({ path, title, expr, legend: legendFormat })),
  );
});

describe("monitoring", () => {
  let system: MonitoredSystem;
  let prometheus: Prometheus;
  let rateLimit: RateLimitClient;
  let accountUrl: string;
  let controlPlanes: readonly NodePod[];
  const fired = new Set<string>();
  const started: Traffic[] = [];

  beforeAll(async () => {
    system = await startMonitoredSystem();
    rateLimit = new RateLimitClient(`${(await system.pod("weir-ratelimit")).address}:8081`);
    accountUrl = `http://${(await system.pod("weir-account")).address}:8000/api/v1/user`;
    controlPlanes = await system.node.pods("weir-control-plane");
    const late = `rejecting.${MONITORING_NAMESPACE}.svc`;
    prometheus = await startPrometheus(system.node, ALERT_FILES.map(shortenRules), late);
    traffic(() => ask("mail"));
  });

  afterAll(async () => {
    await Promise.all(started.map((each) => each.stop()));
    (rateLimit as RateLimitClient | undefined)?.close(); // Not there when it did not start.
    await (system as MonitoredSystem | undefined)?.stop();
  });

  /** Asks for a decision about a user of a domain. */
  async function ask(domain: string): Promise<void> {
    await rateLimit.call({ domain, descriptors: [{ entries: [{ key: "user", value: "ada" }] }] });
  }

  /** Repeats a call until the end of the test, whatever it answers: only what the programs count is of interest. */
  function traffic(call: () => Promise<unknown>): void {
    const each = async () => {
      await Promise.race([call(), delay(CALL_TIMEOUT_MS)]); // A stopped program never answers.
      return { code: "allowed" as const };
    };
    started.push(new Traffic([{ ask: each }], { periodMs: PAUSE_MS, waitingMax: 1 }));
  }

  async function untilFiring(...names: readonly string[]): Promise<void> {
    await eventually(
      names.join(", "),
      async () => {
        for (const { name, state } of await prometheus.alerts()) if (state === "firing") fired.add(name);
        expect([...fired]).toEqual(expect.arrayContaining([...names]));
      },
      FIRING_TIMEOUT_MS,
    );
  }

  /**
   * Returns the series that the query of a panel has shown at any time of this test, if they are numbers: a comparison
   * is never true of NaN.
   */
  async function seriesOf(expression: string): Promise<Awaited<ReturnType<Prometheus["query"]>>> {
    const text = shortenRanges(expression.replaceAll("$__rate_interval", "1m").replaceAll(/=~"\$\w+"/g, '=~".*"'));
    return await prometheus.query(`present_over_time(((${text}) >= -1e18)[${WHOLE_TEST}:2s])`);
  }

  it("has no active alert while the system is healthy", async () => {
    const healthy = async (): Promise<number> => {
      expect(await prometheus.query("count(up == 1) == 6")).toHaveLength(1);
      expect(await prometheus.query("rate(ratelimit_service_total_requests[6s]) > 0")).not.toEqual([]);
      const alerts = await prometheus.alerts();
      expect(alerts.filter(({ state, health }) => state !== "inactive" || health !== "ok")).toEqual([]);
      return Math.min(...alerts.map(({ evaluatedMs }) => evaluatedMs));
    };
    const since = await eventually("no alert", healthy);
    await register(accountUrl); // After a scrape, so that it is growth.
    await eventually("further evaluations", async () =>
      expect(await healthy()).toBeGreaterThan(since + HEALTHY_EVALUATIONS_MS),
    );
  });

  it("lets Prometheus in another namespace read the metrics of the data plane", async () => {
    const peer = "{.spec.ingress[*].from[*].namespaceSelector.matchLabels}";
    const found = await system.kubectl("get", "networkpolicy", "ratelimit", "-o", `jsonpath=${peer}`);
    expect(found).toContain(`{"kubernetes.io/metadata.name":"${MONITORING_NAMESPACE}"}`);
  });

  it(`fills every panel but those of faults within ${FILLED_MAX_MS / 1000} s of helm install`, async () => {
    traffic(() => ask("unknown"));
    await system.applyLimit("mail", "hour");
    const wanted = TARGETS.filter(({ expr }) => !WITHOUT_DATA.has(metricOf(expr)) && !expr.endsWith(" > 0"));
    const empty = async (): Promise<readonly string[]> => {
      const found = await Promise.all(wanted.map(async ({ expr }) => ({ expr, series: await seriesOf(expr) })));
      return found.filter(({ series }) => series.length === 0).map(({ expr }) => expr);
    };
    const restMs = system.installedMs + FILLED_MAX_MS - performance.now();
    await eventually("every panel", async () => expect(await empty()).toEqual([]), restMs);
    const tookMs = Math.round(performance.now() - system.installedMs);
    process.stdout.write(`Every panel had data ${tookMs} ms after helm install\n`);
  });

  it("fires when limits are invalid, or a pod cannot load them", { timeout: STEP_TIMEOUT_MS }, async () => {
    await system.startRejectingPod(MONITORING_NAMESPACE);
    await system.kubectl("create", "namespace", "unread");
    await system.applyService("core", "unread");
    await system.startOldPod();
    // The webhook would refuse them.
    const value = { matchLabels: { validated: "true" } };
    const patch = [{ op: "add", path: "/webhooks/0/namespaceSelector", value }];
    await system.kubectl("patch", "validatingwebhookconfiguration", "weir", "--type=json", "-p", JSON.stringify(patch));
    await system.apply(manifestOf("twins", "twins", TWINS));
    await system.kubectl("patch", "rlc", "twins", "--type=merge", "-p", JSON.stringify({ spec: { shadowMode: true } }));
    await system.applyLimit("mail", "week");
    await untilFiring(
      "WeirInvalidResources",
      "WeirRateLimitConfigNotReady",
      "WeirPodsNotScraped",
      "WeirQuarantinedResources",
      "WeirPodsBehind",
      "WeirConfigurationRejected",
      "WeirShadowMode",
    );
  });

  it(
    "fires when the store is slow, requests are invalid, or domains unknown",
    { timeout: STEP_TIMEOUT_MS },
    async () => {
      const { redis } = system;
      traffic(() => ask(""));
      traffic(async () => {
        if (fired.has("WeirDecisionsSlow") || redis.pid === undefined) return;
        await redis.pause();
        await delay(500);
        redis.resume();
      });
      await untilFiring("WeirRequestErrors", "WeirDomainNotFound", "WeirDecisionsSlow");
    },
  );

  it("fires when logins are too many, and when the users' database is gone", { timeout: STEP_TIMEOUT_MS }, async () => {
    let user = 0; // Each once, so that no limit refuses one.
    traffic(() => Promise.all(Array.from({ length: 10 }, () => logIn(accountUrl, (user += 1)))));
    await untilFiring("WeirAccountBusy");
    await system.mongo.kill();
    await untilFiring("WeirAccountFaults");
  });

  it("fires when the store is gone", { timeout: STEP_TIMEOUT_MS }, async () => {
    await system.redis.kill();
    await untilFiring("WeirStoreErrors", "WeirAccountThrottleErrors", "WeirAccountUnthrottled");
  });

  it(
    "fires when nothing is left to serve, a certificate ends, or clients are refused",
    { timeout: STEP_TIMEOUT_MS },
    async () => {
      await system.kubectl("delete", "rlc", "--all");
      const operators = await system.node.pods("weir-operator");
      for (const pod of operators) await system.node.signal(pod, "SIGSTOP"); // They would renew it.
      await system.expireCertificate();
      const address = await system.controlPlaneAddress();
      traffic(() => sendGarbage(address));
      await untilFiring("WeirSnapshotHeldBack", "WeirCertificateExpiring", "WeirPodsRefused");
      for (const pod of controlPlanes) await system.node.signal(pod, "SIGKILL"); // Pods connect again.
      await untilFiring("WeirControlPlaneCertificateExpired", "WeirPodsDisconnected");
      for (const pod of operators) await system.node.signal(pod, "SIGCONT");
    },
  );

  it(
    "fires when rights are missing, and when the webhook is called wrongly",
    { timeout: STEP_TIMEOUT_MS },
    async () => {
      await system.kubectl("delete", "clusterrolebinding", "weir-operator", "weir-control-plane-revisions");
      await system.applyService("core", SYSTEM_NAMESPACE);
      const operators = await system.node.pods("weir-operator");
      traffic(() => Promise.all(operators.map(({ address }) => callWebhook(address))));
      await system.node.signal(controlPlanes[0]!, "SIGKILL"); // The next process begins without the right.
      await untilFiring("WeirReconcileErrors", "WeirWebhookErrors", "WeirLastGoodUnreadable");
      await untilFiring("WeirRateLimitServiceGone", "WeirRateLimitServiceNotReady");
    },
  );

  it("fires when the API server is gone, and when programs are gone", { timeout: STEP_TIMEOUT_MS }, async () => {
    const others = await Promise.all(["weir-operator", "weir-account"].map((name) => system.node.pods(name)));
    await system.node.cluster.apiServer.kill();
    await system.node.signal(controlPlanes[1]!, "SIGKILL"); // The next process reads nothing.
    await untilFiring("WeirSourceUnreadable", "WeirOperatorRequestsFail", "WeirControlPlaneNotReady");
    for (const pod of [...controlPlanes, ...others.flat()]) await system.node.signal(pod, "SIGSTOP");
    await untilFiring("WeirTargetDown", "WeirControlPlaneGone", "WeirOperatorWithoutLeader", "WeirAccountGone");
  });

  it.each(TARGETS)("shows data in $path: $title ($legend)", async ({ expr, legend }) => {
    const series = await seriesOf(expr);
    const isExpected = !WITHOUT_DATA.has(metricOf(expr));
    expect(series.length > 0, expr).toBe(isExpected);
    const labels = [...legend.matchAll(/\{\{(\w+)\}\}/g)]
      .map(([, label = ""]) => label)
      .filter((label) => label !== LIST_LABEL);
    const isMissing = (label: string): boolean => series.every(({ metric }) => metric[label] === undefined);
    expect(isExpected ? labels.filter(isMissing) : [], "labels of the legend without a value").toEqual([]);
  });

  it("has fired every alert", async () => {
    const names = (await prometheus.alerts()).map(({ name }) => name);
    expect([...fired].toSorted()).toEqual(names.toSorted());
  });
});

/** The first metric of Weir in an expression. */
function metricOf(expression: string): string {
  return /\b(?:ratelimit|weir)_\w+/.exec(expression)?.[0] ?? "";
}

/** With an avatar, so that the dashboard has times of images. */
async function register(url: string): Promise<void> {
  const form = new FormData();
  form.append("email", "grace@example.com");
  form.append("password", "nanoseconds of wire");
  form.append("avatar", new Blob([new Uint8Array(SAMPLE_AVATAR)]), "avatar.png");
  expect((await fetch(`${url}/register`, { method: "POST", body: form })).status).toBe(201);
}

async function logIn(url: string, index: number): Promise<void> {
  const headers = {
    "content-type": "application/json",
    "x-forwarded-for": `203.${Math.floor(index / 250)}.${index % 250}.7`,
  };
  const body = JSON.stringify({ email: `user-${index}@example.com`, password: "unknown to everyone" });
  await (await fetch(`${url}/login`, { method: "POST", headers, body })).body?.cancel();
}

/** A client that does not speak TLS. */
function sendGarbage(host: string): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect({ host, port: 18_000 }, () => socket.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"));
    socket.on("error", () => undefined).on("close", () => resolve());
  });
}

/** A request that is no review. */
function callWebhook(host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const path = "/validate";
    const agent = new Agent({ rejectUnauthorized: false });
    const call = request({ host, port: 9443, path, method: "POST", agent }, (response) => {
      response.resume().on("end", resolve);
    });
    call.on("error", reject).end("{}");
  });
}
