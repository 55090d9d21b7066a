// Packs a folder so that equal files give equal bytes: sorted names, one time, no users.
import { runCommand } from "../run-command.ts";

/** The content and the path of an archive. */
export interface ArchiveOptions {
  readonly folder: string;
  /** Paths in the folder, files or folders with all they contain. */
  readonly paths: readonly string[];
  /** Path of the archive, *.tar.gz or *.tgz. */
  readonly target: string;
  /** Time of every file, in seconds since the epoch. */
  readonly timestampSeconds: number;
  /** Folder in the archive that contains everything. */
  readonly prefix?: string;
}

/** Writes a compressed archive. */
export async function pack({ folder, paths, target, timestampSeconds, prefix }: ArchiveOptions): Promise<void> {
  const command = [
    ...["tar", "--create", "--file", target, "--use-compress-program", "gzip --no-name"],
    ...["--format", "gnu", "--sort", "name", `--mtime=@${timestampSeconds}`],
    ...["--owner", "0", "--group", "0", "--numeric-owner", "--mode", "go-w,u+w,a+rX"],
    ...(prefix === undefined ? [] : ["--transform", `flags=rh;s,^,${prefix}/,`]),
    ...["--directory", folder, "--", ...paths],
  ];
  const { code, output } = await runCommand(command);
  if (code !== 0) throw new Error(`Cannot pack ${target}: tar ended with ${code}\n${output}`);
}
