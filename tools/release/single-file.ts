// Writes the command line as one file per processor: a bundle of it inside Node.js (a "single executable
// application"). Equal sources give equal files.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { build } from "esbuild";
import { runCommand } from "../run-command.ts";
import { cacheFolder } from "../test/test-setup.ts";

/**
 * The Node.js of this repository for each processor: its npm package `node-linux-…` and the SHA-512 of that. npm installs
 * the one of the machine's own processor only.
 */
export const NODE_PACKAGES = {
  version: "26.10.0",
  integrity: {
    x64: "OmAztarr1gK4PD+sNyoku4N5Q40d8eqMuLjNa/zRvxF33aCsVKVIQLs4V5HYPWSWWlMiTdkmbZE/6Phigma0hw==",
    arm64: "idArV/cmqW9M9ODyGlbOIiyxFourDh1mJB0SdKCdMbSZjjef9CLEN3o1/eE4yf+B0+5BD+F74MpTTHiB3XXTBQ==",
  },
} as const;

/** The bundle, in a temporary folder. */
const MAIN = "weir.cjs";

/** A processor, as Node.js names it. */
type Processor = keyof typeof NODE_PACKAGES.integrity;

export const PROCESSORS = Object.keys(NODE_PACKAGES.integrity) as readonly Processor[];

/** Writes `weir-VERSION-linux-PROCESSOR` for each processor into `out`, from the built repository at `root`. */
export async function writeSingleFiles({
  root,
  out,
  version,
}: Readonly<Record<"root" | "out" | "version", string>>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "weir-single-file-"));
  try {
    await build({
      entryPoints: [join(root, "cli/dist/single-file.js")],
      outfile: join(folder, MAIN),
      bundle: true,
      platform: "node",
      format: "cjs",
      target: `node${NODE_PACKAGES.version}`,
      define: { WEIR_VERSION: JSON.stringify(version) },
      legalComments: "inline",
      // Paths of modules are in the bundle: those below `root`, wherever packages are linked to.
      absWorkingDir: root,
      preserveSymlinks: true,
      logLevel: "warning",
    });
    for (const processor of PROCESSORS) {
      const output = join(out, `weir-${version}-linux-${processor}`);
      const executable = await nodeOf(root, processor);
      // A cache of compiled code would be that of one processor.
      const options = { main: MAIN, output, executable, disableExperimentalSEAWarning: true, useCodeCache: false };
      writeFileSync(join(folder, "sea.json"), JSON.stringify(options));
      // The path of the bundle as it is given here is in the file.
      await mustRun(["env", "-C", folder, "node", "--build-sea=sea.json"]);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The path of Node.js for a processor: the installed one, or that of a package, which is fetched once. */
async function nodeOf(root: string, processor: Processor): Promise<string> {
  const { version, integrity } = NODE_PACKAGES;
  if (processor === process.arch) {
    const { version: installed } = createRequire(join(root, "package.json"))("node/package.json") as {
      version: string;
    };
    if (installed === version) return join(root, "node_modules/node/bin/node");
  }
  const name = `node-linux-${processor}`;
  const program = join(cacheFolder(process.env), `${name}-${version}`, "bin/node");
  if (existsSync(program)) return program;
  mkdirSync(dirname(program), { recursive: true });
  const folder = mkdtempSync(join(cacheFolder(process.env), `fetching-${name}-`));
  try {
    await mustRun(["npm", "pack", `${name}@${version}`, "--silent", "--pack-destination", folder]);
    const archive = join(folder, `${name}-${version}.tgz`);
    const found = createHash("sha512").update(readFileSync(archive)).digest("base64");
    if (found !== integrity[processor])
      throw new Error(`Cannot use ${name}@${version}: its checksum is ${found}, expected is ${integrity[processor]}`);
    await mustRun(["tar", "--extract", "--file", archive, "--directory", folder, "package/bin/node"]);
    renameSync(join(folder, "package/bin/node"), program);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return program;
}

async function mustRun(command: readonly string[]): Promise<void> {
  const { code, output } = await runCommand(command);
  if (code !== 0) throw new Error(`Cannot write weir as one file: ${command.join(" ")} ended with ${code}\n${output}`);
}
