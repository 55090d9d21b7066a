// docs/recipes.md as it is: every manifest in a control plane, every Envoy configuration in a real Envoy, and the
// requests of every table.
import { once } from "node:events";
import { readFileSync, readdirSync } from "node:fs";
import { Agent, createServer, type IncomingMessage, request as httpRequest, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { STACK_HOST } from "@weir/dev/setup/ports";
import { eventually } from "@weir/harness/processes/eventually";
import { reservePort } from "@weir/harness/processes/reserve-ports";
import { sendCommand, startRedis } from "@weir/harness/servers/redis";
import type { StoreServer } from "@weir/harness/servers/store-server";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { type Envoy, startEnvoyWith } from "@weir/harness/envoy/envoy";
import { type Weir, startWeir } from "@weir/harness/weir/weir";
import { ROOT } from "@weir/harness/processes/programs";
import { listenerOf, recipeEnvoyConfig } from "@weir/harness/pages/recipe-envoy";
import { type Recipe, readRecipes, type RecipeRow } from "@weir/harness/pages/recipes";

/** Recipes that the page must have at least. */
const RECIPES_MIN = 15;

/** How often a table may be interrupted by the end of a window; a second may end at each row. */
const ATTEMPTS_MAX = 20;

const RECIPES = readRecipes(readFileSync(join(ROOT, "docs/recipes.md"), "utf8"));

describe("docs/recipes.md", () => {
  const folder = makeTemporaryFolder();
  const agent = new Agent({ keepAlive: true });
  let upstream: Server | undefined;
  let redis: StoreServer | undefined;
  let flow: Weir | undefined;
  let envoy: Envoy | undefined;

  beforeAll(async () => {
    upstream = await startModel();
    redis = await startRedis(folder.path);
    flow = await startWeir(folder.path, {
      manifests: Object.fromEntries(RECIPES.map(({ file, manifest }) => [file, manifest])),
    });
    const pod = await flow.startPod({
      ...{ BACKEND_TYPE: "redis", REDIS_TYPE: "SINGLE", REDIS_SOCKET_TYPE: "tcp", REDIS_URL: redis.address },
      // The machine of a test may be busy; the other setting has its default, as the page assumes.
      ...{ KVSTORE_COMMAND_TIMEOUT: "20s", STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT: "false" },
    });
    const ports = { rateLimit: pod.grpcPort, upstream: (upstream.address() as AddressInfo).port };
    const config = recipeEnvoyConfig(RECIPES, { ...ports, closed: await reservePort() });
    envoy = await startEnvoyWith(folder.path, stringify(config));
  });

  afterAll(async () => {
    agent.destroy();
    await envoy?.stop();
    await flow?.stop();
    await redis?.stop();
    upstream?.closeAllConnections();
    upstream?.close();
    folder.remove();
  });

  it("has at least 15 recipes, and all files of examples/recipes", () => {
    expect(RECIPES.length).toBeGreaterThanOrEqual(RECIPES_MIN);
    expect(RECIPES.map(({ file }) => file).toSorted()).toEqual(readdirSync(join(ROOT, "examples/recipes")).toSorted());
  });

  it.each(RECIPES)("shows the manifest in examples/recipes/$file", ({ file, manifest }) => {
    expect(readFileSync(join(ROOT, "examples/recipes", file), "utf8")).toBe(manifest);
  });

  it.each(RECIPES)("answers as the table shows: $title", async (recipe) => {
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      await sendCommand(redis!, "FLUSHALL");
      const answers = await tryTable(recipe);
      if (answers === "interrupted") continue;
      expect(answers).toEqual(
        recipe.rows.map(({ request, statuses, lastHeader }) => ({ request, statuses, lastHeader })),
      );
      return;
    }
    expect.fail(`${ATTEMPTS_MAX} attempts were interrupted by the end of a window`);
  });

  /** Sends the requests of a table; interrupted when a window ended between them, but for a second that a row waits for. */
  async function tryTable(recipe: Recipe): Promise<"interrupted" | readonly object[]> {
    const hourOf = (): number => Math.floor(Date.now() / 3_600_000);
    const hour = hourOf();
    const windowOf = (): number => Math.floor(Date.now() / 1000 / recipe.windowSeconds);
    let window = windowOf();
    const answers: object[] = [];
    for (const row of recipe.rows) {
      if (row.isInNextSecond) window = await nextWindow(window, windowOf);
      answers.push(await sendRow(recipe, row));
      if (windowOf() !== window || hourOf() !== hour) return "interrupted";
    }
    return answers;
  }

  async function sendRow(recipe: Recipe, row: RecipeRow): Promise<object> {
    const url = await envoy!.listenerUrl(listenerOf(recipe, !row.isWithoutPods));
    const isCountedAfterwards = JSON.stringify(recipe.virtualHost).includes("apply_on_stream_done");
    const statuses: number[] = [];
    let last: IncomingMessage | undefined;
    while (statuses.length < row.statuses.length) {
      const asked = await envoy!.statistic("cluster.weir.upstream_rq_total");
      last = await send(url, row);
      statuses.push(last.statusCode ?? 0);
      // Envoy counts what the response names when the response has ended, without waiting for the answer.
      if (isCountedAfterwards && "x-tokens-used" in last.headers) await answered(asked + 2);
    }
    const name = row.lastHeader?.[0];
    const lastHeader = name === undefined ? undefined : [name, String(last?.headers[name])];
    return { request: row.request, statuses, lastHeader };
  }

  /** Resolves when the pod has answered as many calls. */
  async function answered(calls: number): Promise<void> {
    await eventually("the pod to count the response", async () => {
      expect(await envoy!.statistic("cluster.weir.upstream_rq_completed")).toBe(calls);
    });
  }

  async function send(url: string, { method, path, headers }: RecipeRow): Promise<IncomingMessage> {
    const [response] = (await once(httpRequest(url + path, { method, headers, agent }).end(), "response")) as [
      IncomingMessage,
    ];
    await once(response.resume(), "end");
    return response;
  }
});

/** Resolves with the window after `window`, when it has begun. */
async function nextWindow(window: number, windowOf: () => number): Promise<number> {
  return await eventually("the next second", () => {
    expect(windowOf()).toBeGreaterThan(window);
    return windowOf();
  });
}

/** An upstream that reports as many tokens as the request asks for, in a header and in its body. */
async function startModel(): Promise<Server> {
  const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
    const tokens = request.headers["x-respond-tokens"];
    response.setHeader("content-type", "application/json");
    if (tokens !== undefined) response.setHeader("x-tokens-used", tokens);
    response.end(JSON.stringify({ usage: { total_tokens: Number(tokens ?? 0) } }));
    request.resume();
  });
  await once(server.listen(0, STACK_HOST), "listening");
  return server;
}
