// Starts the program of an unpacked image as a container does: its root file system read-only, under its
// user, without capabilities, with its environment. Only the network and the processes are those of the machine.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { ProcessGroup } from "@weir/dev/processes/process-group";
import { startProcess } from "@weir/harness/processes/start-process";

/** An image as tools/images/build.ts reports it. */
export interface BuiltImage {
  readonly name: string;
  readonly digest: string;
  readonly config: {
    readonly Entrypoint: readonly string[];
    readonly Env: readonly string[];
    readonly User: string;
    readonly WorkingDir: string;
    readonly Labels: Readonly<Record<string, string>>;
  };
  readonly details: {
    readonly root: string;
    readonly sizeBytes: number;
    readonly layers: Readonly<Record<string, number>>;
  };
}

/** How a container differs from its image. */
export interface ContainerOptions {
  /** In place of the image's entry point. */
  readonly command?: readonly string[];
  /** In place of the image's user, as UID:GID. */
  readonly user?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Folders of the machine by their path in the container, which may write to them. */
  readonly mounts?: Readonly<Record<string, string>>;
}

/**
 * Mounts what a container has, makes the root read-only, and becomes the command, which can gain no right: the
 * capabilities that are left are those of chroot, which end with its change of the user.
 */
const SCRIPT = `
root=$1 user=$2 directory=$3; shift 3
mount --bind "$root" "$root"
mount --rbind /proc "$root/proc"
mount --rbind /dev "$root/dev"
while [ "$1" != -- ]; do mount --bind "$1" "$root$2"; shift 2; done
shift
mount -o remount,bind,ro "$root"
exec setpriv --no-new-privs --inh-caps=-all --bounding-set=-all,+sys_chroot,+setuid,+setgid \\
  chroot --userspec="$user" "$root" /usr/bin/env -i -C "$directory" "$@"
`;

/** Starts a container. */
export function startContainer(image: BuiltImage, options: ContainerOptions = {}): Promise<ProcessGroup> {
  const { root } = image.details;
  const { command = image.config.Entrypoint, user = image.config.User, env = {}, mounts = {} } = options;
  for (const path of Object.keys(mounts)) mkdirSync(join(root, path), { recursive: true });
  const args = [
    ...[root, user, image.config.WorkingDir],
    ...Object.entries(mounts).flatMap(([path, folder]) => [folder, path]),
    ...["--", ...image.config.Env, ...Object.entries(env).map(([name, value]) => `${name}=${value}`), ...command],
  ];
  return startProcess({
    name: image.name,
    command: "unshare",
    args: ["--mount", "--propagation", "private", "--", "sh", "-euc", SCRIPT, "sh", ...args],
    env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" },
  });
}

/** Runs a command in a container to its end. */
export async function runInContainer(
  image: BuiltImage,
  command: readonly string[],
  options: Omit<ContainerOptions, "command"> = {},
): Promise<{ readonly code: number | null; readonly output: string }> {
  const process = await startContainer(image, { ...options, command });
  const { code } = await process.exited;
  return { code, output: process.lastLines().join("\n") };
}
