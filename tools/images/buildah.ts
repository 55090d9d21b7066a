// Runs buildah without a daemon and without a network: images in a folder of its own.
import { readFileSync, statfsSync } from "node:fs";
import { join } from "node:path";
import { runCommand } from "../run-command.ts";

/** Number of the overlay file system, on which another overlay cannot be: that of most containers. */
const OVERLAY_MAGIC = 0x79_4c_76_30;

/** Steps run in a chroot: no container engine is needed. */
const ENV = { BUILDAH_ISOLATION: "chroot" } as const;

/** How layers are kept: as overlays, or as whole copies, which work everywhere and take several times as long. */
export type Driver = "overlay" | "vfs";

/** The driver that works in `folder` on this machine. */
export function driverFor(folder: string): Driver {
  const isKnown = readFileSync("/proc/filesystems", "utf8").includes("\toverlay\n");
  return isKnown && statfsSync(folder).type !== OVERLAY_MAGIC ? "overlay" : "vfs";
}

/** Words that run a command as root: none for root, otherwise sudo, which must not ask for a password. */
const AS_ROOT: readonly string[] =
  process.getuid?.() === 0 ? [] : ["sudo", "-n", ...Object.entries(ENV).map(([name, value]) => `${name}=${value}`)];

/** The inputs and the options of the build of an image. */
export interface BuildOptions {
  readonly target: string;
  readonly dockerfile: string;
  /** The folder that COPY reads. */
  readonly context: string;
  /** Folders that replace stages of the Dockerfile, by name. */
  readonly replaced: Readonly<Record<string, string>>;
  readonly args: Readonly<Record<string, string>>;
  /** Time of the image and of each file in it, in seconds since the epoch. */
  readonly timestampSeconds: number;
  /** OCI's has no health checks, Docker's has a random id in each image. */
  readonly format: "oci" | "docker";
}

/** The digest and the configuration of an image. */
export interface ImageDescription {
  /** Digest of the manifest over uncompressed layers. */
  readonly digest: string;
  readonly config: {
    readonly Entrypoint: readonly string[];
    readonly Env: readonly string[];
    readonly User: string;
    readonly WorkingDir: string;
    readonly Labels: Readonly<Record<string, string>>;
  };
}

/** The images in one folder. */
export class Buildah {
  readonly #folder: string;
  readonly #driver: Driver;

  constructor(folder: string, driver: Driver) {
    this.#folder = folder;
    this.#driver = driver;
  }

  /** Builds one target of a Dockerfile and names the image after it. Pulls nothing. */
  async build(options: BuildOptions): Promise<void> {
    const { target, dockerfile, context, replaced, args, timestampSeconds, format } = options;
    await this.run([
      "bud",
      ...["--pull-never", "--format", format, `--timestamp=${timestampSeconds}`],
      // Keeps the shared layer between builds; with whole copies, a copy per instruction takes longer.
      `--layers=${this.#driver === "overlay"}`,
      ...Object.entries(replaced).flatMap(([name, folder]) => ["--build-context", `${name}=${folder}`]),
      ...Object.entries(args).flatMap(([name, value]) => ["--build-arg", `${name}=${value}`]),
      ...["--target", target, "--tag", target, "--file", dockerfile, context],
    ]);
  }

  async describe(name: string): Promise<ImageDescription> {
    const inspected = JSON.parse(await this.run(["inspect", "--type", "image", name])) as {
      readonly FromImageDigest: string;
      readonly OCIv1: { readonly config: ImageDescription["config"] };
    };
    return { digest: inspected.FromImageDigest, config: inspected.OCIv1.config };
  }

  /** Copies the file system of the image `name` to `folder`, which must not exist. */
  async unpack(name: string, folder: string): Promise<void> {
    const container = (await this.run(["from", "--pull-never", name])).trim();
    const mounted = (await this.run(["mount", container])).trim();
    try {
      await runAsRoot(["cp", "-a", mounted, folder]);
    } finally {
      await this.run(["rm", container]);
    }
  }

  /** Writes the image `name` with compressed layers into the OCI layout `folder`, in which images share layers. */
  async push(name: string, folder: string): Promise<void> {
    await this.run(["push", "--quiet", "--format", "oci", name, `oci:${folder}:${name}`]);
  }

  /** Writes the image `name` into the archive `file`, which `docker load` reads, with the name `loadedName`. */
  async save(name: string, file: string, loadedName: string): Promise<void> {
    await this.run(["push", "--quiet", name, `docker-archive:${file}:${loadedName}`]);
  }

  /** Runs buildah and returns what it printed. */
  async run(args: readonly string[]): Promise<string> {
    const place = [
      "--storage-driver",
      this.#driver,
      "--root",
      join(this.#folder, "images"),
      "--runroot",
      join(this.#folder, "run"),
    ];
    return await runAsRoot(["buildah", ...place, ...args]);
  }
}

/** Runs a command as root and returns what it printed. */
export async function runAsRoot(command: readonly string[]): Promise<string> {
  const { code, output } = await runCommand([...AS_ROOT, ...command], { env: ENV });
  if (code !== 0) throw new Error(`Cannot build images: "${command.join(" ")}" ended with ${code}\n${output}`);
  return output;
}
