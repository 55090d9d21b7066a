// Writes a release into dist/: layers of the images, weir as one file, charts, bill of materials, notes, checksums. The
// same commit gives the same bytes. `--only NAME` (repeatable) writes a part, `--out FOLDER` writes elsewhere.
import { createHash } from "node:crypto";
import { createReadStream, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { type Commit, readCommit, readVersion } from "../commit.ts";
import type { LockedPackages } from "../images/closure.ts";
import { collectImages } from "../images/collect.ts";
import { IMAGES } from "../images/images.ts";
import { pack } from "./archive.ts";
import { billOfMaterials } from "./bill-of-materials.ts";
import { findCharts } from "./charts.ts";
import { releaseNotes } from "./release-notes.ts";
import { writeSingleFiles } from "./single-file.ts";

/** Parts of a release; each image, and the layer with Node.js, is one more. */
const PARTS = ["charts", "bill-of-materials", "release-notes", "single-file"] as const;

/** The release to write, and the folder for it. */
interface Release {
  readonly root: string;
  readonly out: string;
  readonly version: string;
  readonly commit: Commit;
  /** The parts that are wanted. */
  readonly parts: ReadonlySet<string>;
}

async function writeRelease(release: Release): Promise<void> {
  const { root, out, version, commit, parts } = release;
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  if (parts.has("charts")) {
    for (const { name, version: chartVersion, files } of findCharts(root)) {
      const target = join(out, `${name}-${chartVersion}.tgz`);
      await pack({
        folder: join(root, "charts", name),
        paths: files,
        target,
        timestampSeconds: commit.seconds,
        prefix: name,
      });
    }
  }
  if (parts.has("bill-of-materials")) {
    const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as {
      packages: LockedPackages;
    };
    const bill = billOfMaterials(packages, { version, timestampSeconds: commit.seconds, commit: commit.hash });
    writeFileSync(join(out, `weir-${version}.cdx.json`), bill);
  }
  if (parts.has("release-notes")) {
    const notes = releaseNotes(readFileSync(join(root, "CHANGELOG.md"), "utf8"), version);
    writeFileSync(join(out, "RELEASE-NOTES.md"), notes);
  }
  await writeLayers(release);
  if (parts.has("single-file")) await writeSingleFiles(release);
  writeFileSync(join(out, "SHA256SUMS"), await checksums(out));
}

/** One archive per layer: unpacked into one folder, those of Node.js and of a program run it on any machine. */
async function writeLayers({ root, out, version, commit, parts }: Release): Promise<void> {
  const images = IMAGES.filter(({ name }) => parts.has(name));
  if (images.length === 0) return;
  const folder = mkdtempSync(join(tmpdir(), "weir-release-"));
  try {
    await collectImages(root, folder, images);
    for (const name of ["node", ...images.map((image) => image.name)]) {
      const title = name === "node" ? "weir-node" : name;
      const target = join(out, `${title}-${version}-linux-${process.arch}.tar.gz`);
      const paths = readdirSync(join(folder, name)).toSorted();
      await pack({ folder: join(folder, name), paths, target, timestampSeconds: commit.seconds });
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The lines that `sha256sum --check` reads. */
async function checksums(folder: string): Promise<string> {
  const lines: string[] = [];
  for (const name of readdirSync(folder).toSorted()) {
    const hash = createHash("sha256");
    for await (const chunk of createReadStream(join(folder, name)) as AsyncIterable<Buffer>) hash.update(chunk);
    lines.push(`${hash.digest("hex")}  ${name}\n`);
  }
  return lines.join("");
}

const { values } = parseArgs({ options: { only: { type: "string", multiple: true }, out: { type: "string" } } });
const all = [...PARTS, ...IMAGES.map(({ name }) => name)];
const unknown = (values.only ?? []).filter((name) => !all.includes(name));
if (unknown.length > 0) {
  console.error(`Cannot write ${unknown.join(", ")}: the parts of a release are ${all.join(", ")}`);
  process.exitCode = 2;
} else {
  const root = process.cwd();
  const out = resolve(values.out ?? "dist");
  const parts = new Set(values.only ?? all);
  await writeRelease({ root, out, version: readVersion(root), commit: await readCommit(), parts });
  console.log(readFileSync(join(out, "SHA256SUMS"), "utf8").trimEnd());
}
