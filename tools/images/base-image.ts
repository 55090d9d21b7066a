// The base image of the tests: a minimal system of this machine's own release from its own package
// source, under the name that the Dockerfile gives. Made once, kept in the cache folder.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Buildah, type Driver, driverFor, runAsRoot } from "./buildah.ts";

/** A line or a field of the machine's package sources that names a server. */
const SOURCE = /^(?:URIs:\s*|deb\s+(?:\[.*?\]\s+)?)(https?:\/\/\S+)/m;

/** The base image that the Dockerfile names, without the digest that a release adds. */
export function baseOf(dockerfile: string): string {
  const [, base] = /^ARG BASE=([^\s@]+)(?:@sha256:\w+)?$/m.exec(dockerfile) ?? [];
  if (base === undefined) throw new Error("Cannot find the base image: the Dockerfile has no line ARG BASE=…");
  return base;
}

/** The folder of images with the base, in the cache folder `cache`. */
export function baseFolder(cache: string, base: string, driver: Driver): string {
  return join(cache, `image-base-${base.replaceAll(/[^\w.-]+/g, "-")}-${driver}`);
}

/** Makes the base image unless it is there; returns its folder. */
export async function prepareBase(cache: string, base: string, say: (line: string) => void): Promise<string> {
  mkdirSync(cache, { recursive: true });
  const driver = driverFor(cache);
  const folder = baseFolder(cache, base, driver);
  const stamp = join(folder, ".complete");
  if (existsSync(stamp)) return folder;
  say(`Making the base of container images in ${folder} (a minute or two)`);
  rmSync(folder, { recursive: true, force: true });
  const root = join(folder, "root");
  mkdirSync(folder, { recursive: true });
  await runAsRoot(["debootstrap", "--variant=minbase", release(), root, packageSource()]);
  // Folders that the slim images lack, too.
  const unused = [
    "usr/share/doc",
    "usr/share/man",
    "usr/share/locale",
    "usr/share/info",
    "var/cache/apt",
    "var/lib/apt/lists",
  ];
  await runAsRoot(["rm", "-rf", ...unused.map((path) => join(root, path))]);
  const dockerfile = join(folder, "Dockerfile");
  writeFileSync(dockerfile, "FROM scratch\nCOPY . /\n");
  await new Buildah(folder, driver).run(["bud", "--quiet", "--timestamp=0", "--tag", base, "--file", dockerfile, root]);
  await runAsRoot(["rm", "-rf", root]);
  writeFileSync(stamp, "");
  return folder;
}

/** The release of this machine, such as bookworm. */
function release(): string {
  const [, name] = /^VERSION_CODENAME=(\w+)$/m.exec(readFileSync("/etc/os-release", "utf8")) ?? [];
  if (name === undefined) throw new Error("Cannot make the base of images: /etc/os-release names no VERSION_CODENAME");
  return name;
}

/** The server of this machine's packages. */
function packageSource(): string {
  const folder = "/etc/apt/sources.list.d";
  const own = /(debian|ubuntu)/;
  const files = existsSync(folder) ? readdirSync(folder).filter((name) => own.test(name)) : [];
  for (const path of [...files.map((name) => join(folder, name)), "/etc/apt/sources.list"]) {
    const [, url] = SOURCE.exec(existsSync(path) ? readFileSync(path, "utf8") : "") ?? [];
    if (url !== undefined) return url;
  }
  throw new Error("Cannot make the base of images: the package sources of this machine name no server");
}
