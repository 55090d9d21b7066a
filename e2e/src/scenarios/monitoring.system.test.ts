// The alerts and dashboards of the charts, on the metrics of the real programs in a real Prometheus: no alert is active
// while the system is healthy, and each one fires when the test breaks what it is about.
import { globSync, readFileSync } from "node:fs";
import { Agent, request } from "node:https";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { eventually } from "@weir/testing/eventually";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { manifestOf } from "../parts/flow.ts";
import { limitOf, type MonitoredSystem, startMonitoredSystem } from "../parts/monitored-system.ts";
import { launcher, ROOT, runCommand } from "../parts/programs.ts";
import { type Prometheus, shortenRanges, shortenRules, startPrometheus } from "../parts/prometheus.ts";

/** Evaluations of the rules, one a second, after which a healthy system has shown that no alert fires. */
const HEALTHY_EVALUATIONS_MS = 5000;

/** Longest wait for the alerts of one step, in milliseconds. */
const FIRING_TIMEOUT_MS = 90_000;

/** Time limit of a step, in milliseconds. */
const STEP_TIMEOUT_MS = 150_000;

/** Pause between two rounds of traffic, in milliseconds. */
const PAUSE_MS = 200;

/** Rules that the API server accepts and the control plane does not: two with one counter. */
const TWINS = [{ key: "user", value: "a" }, { key: "user_a" }];

const ALERT_FILES = globSync("charts/*/alerts/*.yaml", { cwd: ROOT }).map((path) =>
  readFileSync(join(ROOT, path), "utf8"),
);

/** Expressions of all dashboards. */
const EXPRESSIONS = globSync("charts/*/dashboards/*.json", { cwd: ROOT }).flatMap((path) => {
  const { panels } = JSON.parse(readFileSync(join(ROOT, path), "utf8")) as {
    panels: { title: string; targets?: { expr: string }[] }[];
  };
  return panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ path, title, expr })));
});

/** Words of PromQL, and labels, in expressions without their braces, brackets and label lists. */
const FUNCTIONS = /\b[a-z_]+(?=\s*\()/g;

describe("monitoring", () => {
  let system: MonitoredSystem;
  let prometheus: Prometheus;
  const fired = new Set<string>();
  const ended = new AbortController();
  const loops: Promise<void>[] = [];

  beforeAll(async () => {
    system = await startMonitoredSystem();
    prometheus = await startPrometheus(system.folder, {
      targets: system.targets,
      rules: ALERT_FILES.map(shortenRules),
    });
    traffic(async () => {
      await system.pod.ask("mail", { user: "ada" });
      const dial = `-dial_string 127.0.0.1:${system.pod.grpcPort} -domain mail -descriptors user=ada`;
      await runCommand(`${launcher("weir-client")} ${dial}`, { cwd: ROOT });
    });
  }, STEP_TIMEOUT_MS);

  afterAll(async () => {
    ended.abort();
    await Promise.all(loops);
    await prometheus.stop();
    await system.stop();
  });

  /** Repeats a call until the end of the test, whatever it answers. */
  function traffic(call: () => Promise<unknown>): void {
    const repeat = async (): Promise<void> => {
      while (!ended.signal.aborted) {
        await call().catch(() => undefined); // It may be refused: only what the programs count is of interest.
        await delay(PAUSE_MS);
      }
    };
    loops.push(repeat());
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

  it("has no active alert while the system is healthy", async () => {
    const healthy = async (): Promise<number> => {
      expect(await prometheus.query("count(up == 1) == 5")).toHaveLength(1);
      expect(await prometheus.query("rate(ratelimit_service_total_requests[6s]) > 0")).not.toEqual([]);
      const alerts = await prometheus.alerts();
      expect(alerts.filter(({ state, health }) => state !== "inactive" || health !== "ok")).toEqual([]);
      return Math.min(...alerts.map(({ evaluatedMs }) => evaluatedMs));
    };
    const since = await eventually("no alert", healthy);
    await eventually("further evaluations", async () =>
      expect(await healthy()).toBeGreaterThan(since + HEALTHY_EVALUATIONS_MS),
    );
  });

  it("fires when limits are invalid, or a pod cannot load them", { timeout: STEP_TIMEOUT_MS }, async () => {
    await system.startOldPod();
    // A counter has to be scraped before it grows.
    await eventually("a scrape of the old pod", async () =>
      expect(await prometheus.query('ratelimit_service_config_load_success{job="old-ratelimit"} > 0')).toHaveLength(1),
    );
    await system.limits.apply("twins", manifestOf("twins", "twins", TWINS));
    await system.limits.apply("mail", limitOf("mail", "week"));
    await untilFiring("WeirInvalidResources", "WeirNacks", "WeirQuarantinedResources", "WeirPodsBehind");
    await untilFiring("WeirConfigurationRejected");
  });

  it(
    "fires when nothing is left to serve, a certificate ends, or clients are refused",
    { timeout: STEP_TIMEOUT_MS },
    async () => {
      const { second, flow } = system;
      second.removeLimits();
      await second.shortenCertificate();
      traffic(() => sendGarbage(flow.controlPlane.adsPort));
      await untilFiring("WeirSnapshotHeldBack", "WeirCertificateExpiring", "WeirPodsRefused");
    },
  );

  it(
    "fires when the store is slow, requests are invalid, or domains unknown",
    { timeout: STEP_TIMEOUT_MS },
    async () => {
      const { pod, redis } = system;
      traffic(() => pod.ask("", { user: "ada" }));
      traffic(() => pod.ask("unknown", { user: "ada" }));
      traffic(async () => {
        if (fired.has("WeirDecisionsSlow") || redis.pid === undefined) return;
        await redis.pause();
        await delay(500);
        redis.resume();
      });
      await untilFiring("WeirRequestErrors", "WeirDomainNotFound", "WeirDecisionsSlow");
    },
  );

  it("has dashboards whose expressions Prometheus accepts, and whose metrics exist", async () => {
    const names = await prometheus.metricNames();
    expect(EXPRESSIONS.length).toBeGreaterThan(30);
    for (const { path, title, expr } of EXPRESSIONS) {
      const text = expr.replaceAll("$__rate_interval", "1m").replaceAll(/=~"\$\w+"/g, '=~".*"');
      const result = await prometheus.query(shortenRanges(text));
      expect(
        metricsOf(text).filter((name) => !names.has(name)),
        `${path}: ${title}`,
      ).toEqual([]);
      expect(result.length, `${path}: ${title}: ${text}`).toBeGreaterThanOrEqual(0);
    }
  });

  it("fires when logins are too many, and when the users' database is gone", { timeout: STEP_TIMEOUT_MS }, async () => {
    const { account, mongo } = system;
    let user = 0; // Each once, so that no limit refuses one.
    traffic(() => Promise.all(Array.from({ length: 10 }, () => logIn(account.url, (user += 1)))));
    await untilFiring("WeirAccountBusy");
    await mongo.kill();
    await untilFiring("WeirAccountFaults");
  });

  it("fires when the store is gone", { timeout: STEP_TIMEOUT_MS }, async () => {
    await system.redis.kill();
    await untilFiring("WeirStoreErrors", "WeirAccountThrottleErrors", "WeirAccountUnthrottled");
  });

  it(
    "fires when rights are missing, and when the webhook is called wrongly",
    { timeout: STEP_TIMEOUT_MS },
    async () => {
      const { limits, operator } = system;
      await limits.cluster.kubectl(["delete", "clusterrolebinding", "weir-operator", "weir-control-plane-revisions"]);
      await limits.cluster.apply(SERVICE);
      traffic(() => callWebhook(operator.webhookPort));
      const late = await system.startLateControlPlane();
      await untilFiring("WeirReconcileErrors", "WeirWebhookErrors", "WeirLastGoodUnreadable");
      await late.stop("SIGTERM", FIRING_TIMEOUT_MS);
    },
  );

  it("fires when the API server is gone", { timeout: STEP_TIMEOUT_MS }, async () => {
    await system.limits.cluster.apiServer.kill();
    await system.startLateControlPlane();
    await untilFiring("WeirSourceUnreadable", "WeirOperatorRequestsFail", "WeirControlPlaneNotReady");
  });

  it("fires when programs are gone", { timeout: STEP_TIMEOUT_MS }, async () => {
    const { flow, second, operator, account } = system;
    for (const { process } of [flow.controlPlane, second.replica, operator, account]) process.kill();
    await untilFiring("WeirTargetDown", "WeirControlPlaneGone", "WeirOperatorWithoutLeader", "WeirAccountGone");
  });

  it("has fired every alert", async () => {
    const names = (await prometheus.alerts()).map(({ name }) => name);
    expect([...fired].toSorted()).toEqual(names.toSorted());
  });
});

const SERVICE = JSON.stringify({
  apiVersion: "ratelimit.weir.dev/v1alpha1",
  kind: "RateLimitService",
  metadata: { name: "core", namespace: "shop" },
  spec: { replicas: 1, backend: { type: "memory" } },
});

/** Names in an expression that are neither functions nor labels nor words of PromQL. */
function metricsOf(expression: string): readonly string[] {
  const bare = expression
    .replaceAll(/"[^"]*"/g, "")
    .replaceAll(/\{[^}]*\}|\[[^\]]*\]/g, " ")
    .replaceAll(/\b(by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)/g, " ")
    .replaceAll(FUNCTIONS, " ");
  return (bare.match(/[a-z_:][a-z0-9_:]*/gi) ?? []).filter((word) => !["and", "or", "unless", "bool"].includes(word));
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
function sendGarbage(port: number): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port }, () => socket.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"));
    socket.on("error", () => undefined).on("close", () => resolve());
  });
}

/** A request that is no review. */
function callWebhook(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const path = "/validate";
    const agent = new Agent({ rejectUnauthorized: false });
    const call = request({ host: "127.0.0.1", port, path, method: "POST", agent }, (response) => {
      response.resume().on("end", resolve);
    });
    call.on("error", reject).end("{}");
  });
}
