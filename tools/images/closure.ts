// Finds the packages that a workspace needs at run time, from package-lock.json: dependencies and
// optional dependencies, no development dependencies and no packages that carry types only.

/** The part of an entry of package-lock.json that the search reads. */
export interface LockedPackage {
  readonly version?: string;
  /** The workspace that a link leads to. */
  readonly resolved?: string;
  readonly link?: boolean;
  readonly integrity?: string;
  /** Platforms that the package is for; all when it names none. */
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly libc?: readonly string[];
  readonly license?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

/** `packages` of package-lock.json: entries by their folder, such as `node_modules/pino` or `limits`. */
export type LockedPackages = Readonly<Record<string, LockedPackage>>;

/** The workspaces and the packages that a set of workspaces needs; folders relative to the root, sorted. */
export interface Closure {
  readonly workspaces: readonly string[];
  readonly packages: readonly string[];
}

/** The platform of an image. */
export interface Platform {
  readonly os: string;
  readonly cpu: string;
  readonly libc: string;
}

/** The platform that images are built for: Debian on the processor of this machine. */
const PLATFORM: Platform = { os: "linux", cpu: process.arch, libc: "glibc" };

const FOLDER = "node_modules/";

/** Finds what `roots`, names of workspaces, need. Throws when the lock file lacks a required package. */
export function findClosure(locked: LockedPackages, roots: readonly string[], platform = PLATFORM): Closure {
  const found = new Set<string>();
  const waiting = [...roots];
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    const entry = locked[at];
    if (entry === undefined) throw new Error(`Cannot find ${at}: package-lock.json has no such folder`);
    if (entry.link === true) {
      waiting.push(entry.resolved ?? "");
      continue;
    }
    if (found.has(at) || !isFor(platform, entry)) continue;
    found.add(at);
    waiting.push(...neededBy(locked, at, entry));
  }
  const all = [...found].toSorted();
  const isPackage = (path: string): boolean => path.includes(FOLDER);
  return { workspaces: all.filter((path) => !isPackage(path)), packages: all.filter(isPackage) };
}

/** The name of the package in a folder: `common/node_modules/@opentelemetry/api` is `@opentelemetry/api`. */
export function packageName(folder: string): string {
  return folder.slice(folder.lastIndexOf(FOLDER) + FOLDER.length);
}

/** Returns true if a package is for `platform`: one of those it names, and none that it excludes with "!". */
function isFor(platform: Platform, entry: LockedPackage): boolean {
  return (["os", "cpu", "libc"] as const).every((field) => {
    const named = entry[field] ?? [];
    if (named.includes(`!${platform[field]}`)) return false;
    return named.includes(platform[field]) || named.every((name) => name.startsWith("!"));
  });
}

function neededBy(locked: LockedPackages, at: string, entry: LockedPackage): readonly string[] {
  const optional = new Set(Object.keys(entry.optionalDependencies ?? {}));
  for (const [name, meta] of Object.entries(entry.peerDependenciesMeta ?? {})) if (meta.optional) optional.add(name);
  // An optional peer is used when another dependency brings it; it is then found there.
  const peers = Object.keys(entry.peerDependencies ?? {}).filter((name) => !optional.has(name));
  const names = new Set([
    ...Object.keys(entry.dependencies ?? {}),
    ...Object.keys(entry.optionalDependencies ?? {}),
    ...peers,
  ]);
  return [...names]
    .filter((name) => !name.startsWith("@types/"))
    .flatMap((name) => {
      const path = resolvePackage(locked, at, name);
      if (path !== undefined) return [path];
      if (optional.has(name)) return []; // For another platform.
      throw new Error(`Cannot find ${name}, which ${at} needs: package-lock.json has no such package`);
    });
}

/** Searches as Node.js does: the package's own folder, then each above it. */
function resolvePackage(locked: LockedPackages, from: string, name: string): string | undefined {
  for (let at = from; ; at = parentOf(at)) {
    const path = at === "" ? FOLDER + name : `${at}/${FOLDER}${name}`;
    if (locked[path] !== undefined) return path;
    if (at === "") return undefined;
  }
}

/** The package or workspace whose `node_modules` contains `folder`; empty for the root. */
function parentOf(folder: string): string {
  const index = folder.lastIndexOf(FOLDER);
  return index <= 0 ? "" : folder.slice(0, index - 1);
}
