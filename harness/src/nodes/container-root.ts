// Runs a program as in a container of an image with the programs of this repository: a mount namespace with a
// root file system of its own, the volumes at the paths of the spec, the user of the spec. Needs root.
import { readlinkSync } from "node:fs";
import { join } from "node:path";

import { ROOT } from "../processes/programs.ts";

/** What an image has: the machine's system and the built repository. Links of the root folder stay links. */
const IMAGE_FOLDERS = ["/usr", "/bin", "/lib", "/lib64", "/sbin"];
const IMAGE_FILES = [
  "/etc/passwd",
  "/etc/group",
  "/etc/nsswitch.conf",
  "/etc/ld.so.cache",
  "/etc/ssl",
  "/etc/alternatives",
];

/** What a container runtime adds. */
const RUNTIME_FOLDERS = ["/proc", "/sys", "/dev"];

/** Folders in which an image finds programs. */
export const IMAGE_PATH = `${join(ROOT, "node_modules", ".bin")}:/usr/local/bin:/usr/bin:/usr/sbin`;

/** A file or folder of the machine in a container. */
export interface ContainerMount {
  readonly source: string;
  readonly target: string;
  readonly isReadOnly: boolean;
}

/** How a container is run. */
export interface ContainerOptions {
  /** An empty folder. */
  readonly root: string;
  readonly hostname: string;
  readonly mounts: readonly ContainerMount[];
  readonly user: number;
  readonly group: number;
  readonly isRootReadOnly: boolean;
  readonly command: readonly string[];
}

/**
 * Arguments of the shell: root folder, host name, "ro" or "rw", user and group, then source, target and "ro" or "rw" of
 * each mount, "--", and the command. It is bound to the test again after the change of its user.
 */
const SCRIPT = `
set -eu
root=$1; name=$2; access=$3; user=$4; group=$5; shift 5
mount -t tmpfs -o mode=0755 tmpfs "$root"
while [ "$1" != -- ]; do
  if [ "$3" = link ]; then ln -s "$1" "$root$2"; shift 3; continue; fi
  if [ -d "$1" ]; then mkdir -p "$root$2"; else mkdir -p "$(dirname "$root$2")"; touch "$root$2"; fi
  mount --rbind "$1" "$root$2"
  if [ "$3" = ro ]; then mount -o remount,bind,ro "$root$2"; fi
  shift 3
done
shift
echo "$name" > /proc/sys/kernel/hostname
if [ "$access" = ro ]; then mount -o remount,bind,ro "$root"; fi
exec chroot "$root" setpriv --reuid="$user" --regid="$group" --clear-groups --pdeathsig KILL -- "$@"
`;

/** The command that runs the container; it becomes the container's process. */
export function containerCommand(options: ContainerOptions): readonly [string, readonly string[]] {
  const { root, hostname, mounts, user, group, isRootReadOnly, command } = options;
  const access = (isReadOnly: boolean): string => (isReadOnly ? "ro" : "rw");
  const all = [
    ...mounts.map(({ source, target, isReadOnly }) => [source, target, access(isReadOnly)]),
    ...[...IMAGE_FOLDERS, ...IMAGE_FILES].map(imagePart),
    [ROOT, ROOT, "ro"],
    ...RUNTIME_FOLDERS.map((path) => [path, path, "rw"]),
  ];
  const own = [root, hostname, access(isRootReadOnly), String(user), String(group), ...all.flat(), "--", ...command];
  return ["unshare", ["--mount", "--uts", "--propagation", "private", "sh", "-c", SCRIPT, "sh", ...own]];
}

function imagePart(path: string): readonly string[] {
  try {
    return [readlinkSync(path), path, "link"];
  } catch {
    return [path, path, "ro"]; // It is no link.
  }
}
