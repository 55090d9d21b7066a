// Collects what the images contain into one folder per layer: `node tools/images/collect.ts OUT`.
// Expects installed packages and a build; needs `strip` and `ldd`. Equal sources give equal folders.
import { chmodSync, copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { runCommand } from "../run-command.ts";
import { findClosure, type LockedPackages } from "./closure.ts";
import { type Image, IMAGES } from "./images.ts";
import { isPackageFile, isWorkspaceFile } from "./run-time-files.ts";

/** Folder of the programs in an image. */
const HOME = "opt/weir";

/** The layer that every image shares. */
const NODE_LAYER = "node";

/** A library that Node.js is linked with and that Debian's slim images lack. */
const EXTRA_LIBRARY = /libatomic\.so\.1 => (\S+)/;

/**
 * The file in which programs look for the authorities of the system. The list is that of Node.js:
 * newer than Debian's package, the same on every machine, and without authorities of the build's
 * machine.
 */
const AUTHORITIES = "etc/ssl/certs/ca-certificates.crt";
const WRITE_AUTHORITIES = "fs.writeFileSync(process.argv[1], tls.rootCertificates.join('\\n'))";

/** Modes of files and folders: the same whatever the umask of the checkout was. */
const MODE = { plain: 0o644, program: 0o755 } as const;

/** Collects the shared layer and that of each image into folders of `out`, which is emptied first. */
export async function collectImages(root: string, out: string, images: readonly Image[] = IMAGES): Promise<void> {
  process.umask(0o022); // Folders that are made on the way have this mode, too.
  rmSync(out, { recursive: true, force: true });
  const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as {
    packages: LockedPackages;
  };
  await collectNode(root, join(out, NODE_LAYER));
  for (const image of images) collectImage(root, join(out, image.name), image, packages);
}

/** The health check, authorities, and the binary of Node.js without its symbols for debuggers: 116 MB instead of 150. */
async function collectNode(root: string, layer: string): Promise<void> {
  const binary = join(layer, "usr/local/bin/node");
  copy(join(root, "node_modules/node/bin/node"), binary, MODE.program);
  copy(join(root, "tools/images/weir-health"), join(layer, "usr/local/bin/weir-health"), MODE.program);
  await mustRun(["strip", "--strip-all", binary]);
  const authorities = join(layer, AUTHORITIES);
  mkdirSync(dirname(authorities), { recursive: true, mode: MODE.program });
  await mustRun([binary, "--eval", WRITE_AUTHORITIES, authorities]);
  const [, library] = EXTRA_LIBRARY.exec(await mustRun(["ldd", binary])) ?? [];
  if (library !== undefined) {
    // In /lib on machines where that is a link to /usr/lib, as it is in the images.
    const target = join(layer, "usr/lib", basename(dirname(library)), basename(library));
    copy(library, target, MODE.plain);
  }
}

function collectImage(root: string, layer: string, image: Image, locked: LockedPackages): void {
  const { workspaces, packages } = findClosure(locked, image.workspaces);
  const home = join(layer, HOME);
  for (const folder of workspaces) copyFiles(join(root, folder), join(home, folder), isWorkspaceFile);
  for (const folder of packages) copyFiles(join(root, folder), join(home, folder), isPackageFile);
  for (const folder of workspaces) linkInto(home, `node_modules/@weir/${folder}`, folder);
  linkInto(home, "node_modules/.bin/node", "../../usr/local/bin/node");
  copy(join(root, "LICENSE"), join(home, "LICENSE"), MODE.plain);
  for (const workspace of image.workspaces)
    for (const launcher of readdirSync(join(root, workspace, "bin")).toSorted())
      linkInto(layer, `usr/local/bin/${launcher}`, `${HOME}/${workspace}/bin/${launcher}`);
  for (const [path, launcher] of Object.entries(image.links ?? {})) linkInto(layer, path, `usr/local/bin/${launcher}`);
}

/** Copies what `isWanted` of `from`, but no packages in it: those are copied one by one. */
function copyFiles(from: string, to: string, isWanted: (path: string) => boolean): void {
  const entries = readdirSync(from, { recursive: true, withFileTypes: true });
  for (const entry of entries) {
    const path = relative(from, join(entry.parentPath, entry.name));
    if (!entry.isFile() || path.split("/").includes("node_modules") || !isWanted(path)) continue;
    const source = join(from, path);
    copy(source, join(to, path), isProgram(source) ? MODE.program : MODE.plain);
  }
}

/** Returns true for a script in a folder named `bin`. */
function isProgram(path: string): boolean {
  return dirname(path).endsWith("/bin") && readFileSync(path).subarray(0, 2).toString("latin1") === "#!";
}

function copy(from: string, to: string, mode: number): void {
  mkdirSync(dirname(to), { recursive: true, mode: MODE.program });
  copyFileSync(from, to);
  chmodSync(to, mode);
}

/** Makes `path` in `root` a relative link to `target` in `root`. */
function linkInto(root: string, path: string, target: string): void {
  const link = join(root, path);
  mkdirSync(dirname(link), { recursive: true, mode: MODE.program });
  symlinkSync(relative(dirname(link), join(root, target)), link);
}

async function mustRun(command: readonly string[]): Promise<string> {
  const { code, output } = await runCommand(command);
  if (code !== 0) throw new Error(`Cannot collect the images: "${command.join(" ")}" ended with ${code}\n${output}`);
  return output;
}

if (import.meta.main) {
  const [out] = process.argv.slice(2);
  if (out === undefined) {
    console.error("Usage: node tools/images/collect.ts FOLDER");
    process.exitCode = 2;
  } else {
    await collectImages(process.cwd(), resolve(out));
  }
}
