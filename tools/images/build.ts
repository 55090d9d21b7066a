// Builds every image without a network into a folder: `node tools/images/build.ts FOLDER [--digests-only] [--archive FILE [--tag TAG]]`.
// FOLDER/report.json describes them, `docker load` reads FOLDER/NAME.tar, containerd FILE with all. Expects a build.
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { readCommit, readVersion } from "../commit.ts";
import { cacheFolder } from "../test/test-setup.ts";
import { baseFolder, baseOf } from "./base-image.ts";
import { Buildah, driverFor, type ImageDescription, runAsRoot } from "./buildah.ts";
import { collectImages } from "./collect.ts";
import { IMAGES } from "./images.ts";

/** An image that was built; sizes in bytes, without the base. */
interface BuiltImage extends ImageDescription {
  readonly name: string;
  /** Everything else but the digest; undefined with --digests-only. */
  readonly details: ImageDetails | undefined;
}

/** Details of an image that take time to find out. */
interface ImageDetails {
  /** Folder with its file system. */
  readonly root: string;
  readonly sizeBytes: number;
  /** Compressed layers by digest. */
  readonly layers: Readonly<Record<string, number>>;
}

/** The part of an OCI manifest that sizes come from. */
interface Manifest {
  readonly layers: readonly { readonly digest: string; readonly size: number }[];
}

/** The names that the charts use, without the tag. */
const REPOSITORIES = "ghcr.io/weir-dev";

/** Builds all images in `folder`, which is emptied first. */
async function buildImages(
  root: string,
  folder: string,
  { digestsOnly, archive, tag }: Record<"archive" | "tag", string | undefined> & { readonly digestsOnly: boolean },
): Promise<readonly BuiltImage[]> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const dockerfile = join(root, "Dockerfile");
  const baseName = baseOf(readFileSync(dockerfile, "utf8"));
  const cache = cacheFolder(process.env);
  const driver = driverFor(cache);
  const base = baseFolder(cache, baseName, driver);
  if (!existsSync(join(base, ".complete")))
    throw new Error(`Cannot build images: ${base} is not complete; run make test-images`);
  await runAsRoot(["cp", "-a", join(base, "images"), folder]);

  const collected = join(folder, "collected");
  await collectImages(root, collected);
  // A context without anything else: what is built depends on the collected files alone.
  const context = join(folder, "context");
  mkdirSync(context);
  mkdirSync(join(folder, "roots"));
  copyFileSync(dockerfile, join(context, "Dockerfile"));
  const commit = await readCommit();
  const buildah = new Buildah(folder, driver);
  const args = {
    BASE: baseName,
    VERSION: readVersion(root),
    REVISION: commit.hash,
    CREATED: new Date(commit.seconds * 1000).toISOString(),
  };
  const shared = {
    context,
    dockerfile: join(context, "Dockerfile"),
    replaced: { collected },
    args,
    timestampSeconds: commit.seconds,
  };
  const images: BuiltImage[] = [];
  for (const { name } of IMAGES) {
    await buildah.build({ ...shared, target: name, format: "oci" });
    const describe = async (): Promise<ImageDetails> => {
      const unpacked = join(folder, "roots", name);
      await buildah.push(name, join(folder, "oci"));
      await buildah.unpack(name, unpacked);
      await buildah.build({ ...shared, target: name, format: "docker" });
      await buildah.save(name, join(folder, `${name}.tar`), `${REPOSITORIES}/${name}:local`);
      return {
        root: unpacked,
        sizeBytes: sizeOf(join(collected, "node")) + sizeOf(join(collected, name)),
        layers: readLayers(join(folder, "oci"), name),
      };
    };
    images.push({ ...(await buildah.describe(name)), name, details: digestsOnly ? undefined : await describe() });
  }
  if (archive !== undefined) await writeArchive(buildah, folder, archive, tag ?? args.VERSION);
  return images;
}

/** Writes one archive of all images, in which layers that they share are once: an OCI layout with containerd's names. */
async function writeArchive(buildah: Buildah, folder: string, archive: string, tag: string): Promise<void> {
  const layout = join(folder, "archive");
  for (const { name } of IMAGES) await buildah.push(name, layout);
  const path = join(layout, "index.json");
  const index = JSON.parse(readFileSync(path, "utf8")) as {
    readonly manifests: readonly { readonly annotations: Record<string, string> }[];
  };
  for (const { annotations } of index.manifests) {
    const name = annotations["org.opencontainers.image.ref.name"] ?? "";
    annotations["io.containerd.image.name"] = `${REPOSITORIES}/${name}:${tag}`;
  }
  writeFileSync(path, JSON.stringify(index));
  await runAsRoot(["tar", "-C", layout, "-cf", archive, "."]);
}

/** The compressed layers of an image above its base, which is one layer. */
function readLayers(layout: string, name: string): Readonly<Record<string, number>> {
  const read = (digest: string): unknown =>
    JSON.parse(readFileSync(join(layout, "blobs", digest.replace(":", "/")), "utf8"));
  const { manifests } = JSON.parse(readFileSync(join(layout, "index.json"), "utf8")) as {
    readonly manifests: readonly { readonly digest: string; readonly annotations: Readonly<Record<string, string>> }[];
  };
  const found = manifests.find(({ annotations }) => annotations["org.opencontainers.image.ref.name"] === name);
  const { layers } = read(found?.digest ?? "") as Manifest;
  return Object.fromEntries(layers.slice(1).map(({ digest, size }) => [digest, size]));
}

function sizeOf(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { "digests-only": { type: "boolean" }, archive: { type: "string" }, tag: { type: "string" } },
});
const [folder] = positionals;
if (folder === undefined) {
  console.error("Usage: node tools/images/build.ts FOLDER [--digests-only] [--archive FILE [--tag TAG]]");
  process.exitCode = 2;
} else {
  const images = await buildImages(process.cwd(), resolve(folder), {
    digestsOnly: values["digests-only"] ?? values.archive !== undefined,
    archive: values.archive,
    tag: values.tag,
  });
  writeFileSync(join(folder, "report.json"), JSON.stringify(images, undefined, 2));
  for (const { name, digest } of images) console.log(`${name}  ${digest}`);
}
