// Runs buildah without a daemon and without a network: images in a folder of its own.
import { join } from "node:path";
import { runCommand } from "../run-command.ts";

/** The driver that works on every file system, also in a container. */
const DRIVER = "vfs";

/** Steps run in a chroot: no container engine is needed. */
const ENV = { BUILDAH_ISOLATION: "chroot" } as const;

/** What runs a program as root: nothing for root, otherwise sudo, which must not ask for a password. */
export const AS_ROOT: readonly string[] =
  process.getuid?.() === 0 ? [] : ["sudo", "-n", ...Object.entries(ENV).map(([name, value]) => `${name}=${value}`)];

/** What an image is built from. */
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
}

/** What an image says of itself. */
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

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Builds one target of a Dockerfile and names the image after it. Pulls nothing. */
  async build(options: BuildOptions): Promise<void> {
    const { target, dockerfile, context, replaced, args, timestampSeconds } = options;
    await this.run([
      "bud",
      ...["--pull-never", "--format", "oci", "--layers", `--timestamp=${timestampSeconds}`],
      ...Object.entries(replaced).flatMap(([name, folder]) => ["--build-context", `${name}=${folder}`]),
      ...Object.entries(args).flatMap(([name, value]) => ["--build-arg", `${name}=${value}`]),
      ...["--target", target, "--tag", target, "--file", dockerfile, context],
    ]);
  }

  /** Describes the image `name`. */
  async describe(name: string): Promise<ImageDescription> {
    const inspected = JSON.parse(await this.run(["inspect", "--type", "image", name])) as {
      readonly FromImageDigest: string;
      readonly OCIv1: { readonly config: ImageDescription["config"] };
    };
    return { digest: inspected.FromImageDigest, config: inspected.OCIv1.config };
  }

  /** Unpacks the image `name` and returns the folder; it lasts as long as the folder of images. */
  async unpack(name: string): Promise<string> {
    const container = (await this.run(["from", "--pull-never", name])).trim();
    const folder = (await this.run(["mount", container])).trim();
    // With this driver the files are there without the mount, which would keep the folder from being removed.
    await this.run(["umount", container]);
    return folder;
  }

  /** Writes the image `name` with compressed layers into the OCI layout `folder`, in which images share layers. */
  async push(name: string, folder: string): Promise<void> {
    await this.run(["push", "--quiet", "--format", "oci", name, `oci:${folder}:${name}`]);
  }

  /** Runs buildah and returns what it printed. */
  async run(args: readonly string[]): Promise<string> {
    const place = ["--storage-driver", DRIVER, "--root", join(this.#folder, "images"), "--runroot", join(this.#folder, "run")];
    const command = [...AS_ROOT, "buildah", ...place, ...args];
    const { code, output } = await runCommand(command, { env: ENV });
    if (code !== 0) throw new Error(`Cannot build images: "${command.join(" ")}" ended with ${code}\n${output}`);
    return output;
  }
}
