// A folder of files that change as those of a Secret that Kubernetes mounts: all together, by the swap
// of one link.
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The link that is swapped. */
const DATA = "..data";

/** A mounted Secret. */
export class MountedSecret {
  readonly folder: string;
  #version = 0;

  /** Mounts a Secret with these values by name of the file; into `folder`, or a fresh temporary one. */
  constructor(values: Readonly<Record<string, string>>, folder = mkdtempSync(join(tmpdir(), "weir-secret-"))) {
    this.folder = folder;
    mkdirSync(folder, { recursive: true });
    this.replace(values);
  }

  /** The path of a file. */
  path(name: string): string {
    return join(this.folder, name);
  }

  /** Swaps in new values, as the kubelet does; the links of names that are gone stay, and lead nowhere. */
  replace(values: Readonly<Record<string, string>>): void {
    this.#version += 1;
    const version = `..version-${this.#version}`;
    mkdirSync(join(this.folder, version));
    for (const [name, value] of Object.entries(values)) writeFileSync(join(this.folder, version, name), value);
    const before = readdirSync(this.folder).includes(DATA) ? readlinkSync(join(this.folder, DATA)) : undefined;
    symlinkSync(version, join(this.folder, `${DATA}_tmp`));
    renameSync(join(this.folder, `${DATA}_tmp`), join(this.folder, DATA));
    if (before !== undefined) rmSync(join(this.folder, before), { recursive: true });
    const linked = new Set(readdirSync(this.folder));
    for (const name of Object.keys(values))
      if (!linked.has(name)) symlinkSync(join(DATA, name), join(this.folder, name));
  }

  /** Removes the folder. */
  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
