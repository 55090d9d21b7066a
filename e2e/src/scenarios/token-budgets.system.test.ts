// Tests docs/token-budgets.md about clients that leave, with the Envoy configuration of its recipe.
import { EventEmitter, once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type ClientRequest, request as httpRequest, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { STACK_HOST } from "@weir/dev/setup/ports";
import { type Envoy, startEnvoyWith } from "@weir/harness/envoy/envoy";
import { RATE_LIMIT } from "@weir/harness/envoy/envoy-config";
import { listenerOf, recipeEnvoyConfig } from "@weir/harness/pages/recipe-envoy";
import { readRecipes } from "@weir/harness/pages/recipes";
import { eventually } from "@weir/harness/processes/eventually";
import { ROOT } from "@weir/harness/processes/programs";
import { reservePort } from "@weir/harness/processes/reserve-ports";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { type RateLimitService, startRateLimitService } from "@weir/harness/weir/rate-limit-service";
import { afterAll, beforeAll, expect, it } from "vitest";
import { stringify } from "yaml";

const RULES = stringify({
  domain: "reserved-tokens",
  descriptors: [
    {
      key: "model",
      value: "large",
      descriptors: [
        {
          key: "user",
          rate_limit: { unit: "year", requests_per_unit: 1000, algorithm: "token_bucket", count_rejected_hits: true },
        },
      ],
    },
  ],
});

/** A model that answers when the test says so. */
class Model {
  readonly server: Server;
  readonly #asked = new EventEmitter();

  constructor() {
    this.server = createServer((request, response) => {
      request.resume();
      this.#asked.emit("request", response);
    });
  }

  /** Resolves with the next request. */
  async asked(): Promise<ServerResponse> {
    const [response] = (await once(this.#asked, "request")) as [ServerResponse];
    return response;
  }
}

const folder = makeTemporaryFolder();
const model = new Model();
let service: RateLimitService;
let envoy: Envoy;
let url: string;

beforeAll(async () => {
  await once(model.server.listen(0, STACK_HOST), "listening");
  service = await startRateLimitService(folder.path, { "tokens.yaml": RULES }, { BACKEND_TYPE: "memory" });
  const page = readFileSync(join(ROOT, "docs/recipes.md"), "utf8");
  const recipe = readRecipes(page).find(({ file }) => file === "reserved-tokens.yaml")!;
  // The service is stopped for a moment, and Envoy is to wait for it.
  const patient = { ...recipe, filters: [{ name: RATE_LIMIT, typed_config: { timeout: "60s" } }] };
  const upstream = (model.server.address() as AddressInfo).port;
  const ports = { rateLimit: service.grpcPort, upstream, closed: await reservePort() };
  envoy = await startEnvoyWith(folder.path, stringify(recipeEnvoyConfig([patient], ports)));
  url = `${await envoy.listenerUrl(listenerOf(recipe, true))}/chat`;
});

afterAll(async () => {
  await envoy.stop();
  await service.stop();
  model.server.closeAllConnections();
  model.server.close();
  folder.remove();
});

/** Sends a request that reserves 300 tokens. */
function send(user: string): ClientRequest {
  const headers = { "x-model": "large", "x-user": user, "x-tokens-estimated": "300" };
  const request = httpRequest(url, { method: "POST", headers, agent: false }).end();
  request.on("error", () => undefined); // It is destroyed below.
  return request;
}

async function remaining(user: string): Promise<number | undefined> {
  const { statuses } = await service.ask("reserved-tokens", { entries: { model: "large", user }, hits: 0 });
  return statuses[0]?.remaining;
}

async function calls(): Promise<number> {
  return await envoy.statistic("cluster.weir.upstream_rq_total");
}

it("charges what an answer took in place of the estimate", async () => {
  const asked = model.asked();
  const request = send("ada");
  const response = await asked;
  expect(await remaining("ada")).toBe(700);
  response.setHeader("x-tokens-used", "450").end("ok\n");
  await once(request, "response");
  await eventually("the settlement", async () => expect(await remaining("ada")).toBe(550));
});

it("gives the estimate back when the client leaves while the model works, and charges nothing", async () => {
  const asked = model.asked();
  const request = send("grace");
  const response = await asked;
  expect(await remaining("grace")).toBe(700);
  request.destroy();
  await eventually("the settlement", async () => expect(await remaining("grace")).toBe(1000));
  response.destroy();
});

it("settles nothing when the client leaves before the first call was answered", async () => {
  const before = await calls();
  await service.process.pause();
  const request = send("edsger");
  await eventually("the call", async () => expect(await calls()).toBe(before + 1));
  request.destroy();
  await eventually("Envoy to give up", async () =>
    expect(await envoy.statistic("cluster.weir.upstream_rq_active")).toBe(0),
  );
  service.process.resume();
  // The estimate is kept when the service has read it before the call was cancelled.
  expect([700, 1000]).toContain(await remaining("edsger"));
  // A later request is settled, so that the first one would have been by then.
  const asked = model.asked();
  const later = send("barbara");
  (await asked).setHeader("x-tokens-used", "300").end("ok\n");
  await once(later, "response");
  await eventually("its settlement", async () => expect(await calls()).toBe(before + 3));
  expect([700, 1000]).toContain(await remaining("edsger"));
});
