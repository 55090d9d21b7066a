// Envoy, two pods that take turns, one Redis, and two minutes of requests at three times each limit: what is admitted is
// what the way to count promises, to the request. Without scripts it is nearly that, and never more.
import { setTimeout as delay } from "node:timers/promises";
import { endpoints, socketAddress } from "@weir/harness/envoy/envoy-config";
import { type Envoy, startEnvoy } from "@weir/harness/envoy/envoy";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { startRedis } from "@weir/harness/servers/redis";
import { startUpstream, type Upstream } from "@weir/harness/servers/upstream";
import { type RateLimitService, startRateLimitService } from "@weir/harness/weir/rate-limit-service";
import { afterEach, describe, expect, it } from "vitest";
import { stringify } from "yaml";

const DOMAIN = "soak";

/** Each limit is 100 in windows of ten seconds. */
const WINDOW_MS = 10_000;
const LIMIT = { unit: "second", unit_multiplier: 10, requests_per_unit: 100 };
const BUCKET = { ...LIMIT, algorithm: "token_bucket", burst: 20 };

/** Time between two requests of a user, in milliseconds: three times the limit. */
const PERIOD_MS = WINDOW_MS / 300;

/**
 * Requests begin at the start of a window, and end in the middle of the thirteenth, in milliseconds: none of them is
 * counted in a window after it.
 */
const FIRST_MS = 20;
const LAST_MS = 125_000;

/** The rules, by user. */
const RULES = {
  fixed: { rate_limit: LIMIT },
  sliding: { rate_limit: { ...LIMIT, algorithm: "sliding_window" } },
  bucket: { rate_limit: BUCKET },
  list: {
    rate_limits: [
      { ...LIMIT, name: "window" },
      { ...BUCKET, name: "bucket" },
    ],
  },
};

/** How many requests each way to count admits until so many milliseconds after the start of a window. */
const PROMISED = {
  fixed: (ms: number) => 100 * Math.ceil(ms / WINDOW_MS),
  sliding: (ms: number) => slidingUntil(ms, WINDOW_MS, 100),
  bucket: bucketUntil,
  /** Each window but the last is full after eight seconds, and the bucket at its end. */
  list: (ms: number) => 100 * Math.floor(ms / WINDOW_MS) + Math.min(100, bucketUntil(ms % WINDOW_MS)),
};

/** Without scripts a bucket is sliding windows of 20 in two seconds, of which the list never fills its window. */
const WINDOWED_BUCKET = (ms: number) => slidingUntil(ms, 2000, 20);

const TEST_MS = 600_000;

const closers: (() => Promise<unknown> | void)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

describe("limits behind Envoy with two pods and one Redis", () => {
  it.each([
    { scripts: "on", promised: PROMISED, fewerMax: 1 },
    { scripts: "off", promised: { ...PROMISED, bucket: WINDOWED_BUCKET, list: WINDOWED_BUCKET }, fewerMax: 12 },
  ])(
    "admit what their way to count promises with LIMIT_SCRIPTS=$scripts",
    async ({ scripts, promised, fewerMax }) => {
      const { envoy, upstream, pods } = await start(scripts);
      const sent = await Promise.all(Object.keys(RULES).map((user) => sendSteadily(envoy.url, user)));
      expect(new Set(sent.flatMap(({ statuses }) => statuses))).toEqual(new Set([200, 429]));
      const results = Object.entries(promised).map(([user, until], index) => ({
        user,
        admitted: upstream.requestsOf(user),
        // It was decided after it was sent, and before it was answered.
        least: until(LAST_MS) - fewerMax,
        most: until(sent[index]?.answeredMs ?? 0) + 1,
      }));
      process.stdout.write(`LIMIT_SCRIPTS=${scripts}: ${JSON.stringify(results)}\n`);
      expect(results.filter(({ admitted, least, most }) => admitted < least || admitted > most)).toEqual([]);
      const [one = 0, two = 0] = await Promise.all(pods.map(hitsOf));
      expect(one + two).toBe(sent.flatMap(({ statuses }) => statuses).length);
      expect(Math.abs(one - two)).toBeLessThan(0.1 * (one + two));
    },
    TEST_MS,
  );
});

async function start(scripts: string) {
  const folder = makeTemporaryFolder();
  closers.push(() => folder.remove());
  const redis = await startRedis(folder.path);
  closers.push(() => redis.stop());
  const upstream: Upstream = await startUpstream();
  closers.push(() => upstream.stop());
  const descriptors = Object.entries(RULES).map(([value, limits]) => ({ key: "user", value, ...limits }));
  const rules = { domain: DOMAIN, descriptors: [{ key: "path", value: "/", descriptors }] };
  const pods: RateLimitService[] = [];
  for (let pod = 0; pod < 2; pod++) {
    const env = { KVSTORE_SOCKET_TYPE: "tcp", KVSTORE_URL: redis.address, LIMIT_SCRIPTS: scripts };
    const service = await startRateLimitService(folder.path, { "soak.yaml": stringify(rules) }, env, { isBuilt: true });
    closers.push(() => service.stop());
    pods.push(service);
  }
  const servers = pods.map(({ grpcPort }) => socketAddress(grpcPort));
  const envoy: Envoy = await startEnvoy({
    folder: folder.path,
    domain: DOMAIN,
    upstreamPort: upstream.port,
    rateLimitCluster: endpoints("ratelimit", servers),
  });
  closers.push(() => envoy.stop());
  return { envoy, upstream, pods };
}

/** The limit in the first window, and one less in others, because the one before weighs until its end. */
function slidingUntil(ms: number, windowMs: number, limit: number): number {
  const windows = Math.floor(ms / windowMs);
  return limit + (windows - 1) * (limit - 1) + Math.floor((limit - 1) * (ms / windowMs - windows)) + 1;
}

/** The burst, and what leaks until then. */
function bucketUntil(ms: number): number {
  return Math.floor(20 + (ms * 100) / WINDOW_MS);
}

/**
 * Sends the requests of a user from the start of the next window on, and resolves with their statuses, and when the last
 * answer came, in milliseconds after that start.
 */
async function sendSteadily(url: string, user: string) {
  const startMs = Math.ceil((Date.now() + 1000) / WINDOW_MS) * WINDOW_MS;
  const answers: Promise<number>[] = [];
  for (let afterMs = FIRST_MS; afterMs < LAST_MS; afterMs += PERIOD_MS) {
    const waitMs = startMs + afterMs - Date.now();
    if (waitMs > 0) await delay(waitMs);
    answers.push(statusOf(url, user));
  }
  const statuses = await Promise.all(answers);
  return { statuses, answeredMs: Date.now() - startMs };
}

async function statusOf(url: string, user: string): Promise<number> {
  const response = await fetch(`${url}/`, { headers: { "x-user": user } });
  await response.arrayBuffer();
  return response.status;
}

/** Hits that a pod has counted. */
async function hitsOf(pod: RateLimitService): Promise<number> {
  const statistics = await pod.statistics();
  const names = Object.keys(RULES).map(
    (user) => `ratelimit.service.rate_limit.${DOMAIN}.path_/.user_${user}.total_hits`,
  );
  const lists = ["window", "bucket"].map(
    (name) => `ratelimit.service.rate_limit.${DOMAIN}.path_/.user_list.${name}.total_hits`,
  );
  return names.reduce((sum, name) => sum + Number(statistics[name] ?? 0), 0) + Number(statistics[lists[0] ?? ""] ?? 0);
}
