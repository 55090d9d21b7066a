// The images of a node, as archives that containerd imports: those of the Dockerfile, built once per content and kept in the
// cache folder, and programs of this machine with the libraries that they are linked with.
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

import { withLock } from "../processes/with-lock.ts";
import { ROOT } from "../processes/programs.ts";
import { toolsFolder } from "../processes/tools.ts";

const run = promisify(execFile);

/** Characters of the checksum in the name of an archive. */
const KEY_LENGTH = 16;

/** Workspaces that ship. */
const SHIPPED = "{proto,limits,crds,common,http2,kubernetes,certificates,control-plane,operator,ratelimit,account,cli}";

/** Patterns of the files that the images of the Dockerfile are made of, below the root of the repository. */
const CONTENT = [
  ...["dist/**/*.js", "bin/*", "package.json"].map((pattern) => `${SHIPPED}/${pattern}`),
  ...["package-lock.json", "Dockerfile", "tools/images/*.ts", "tools/images/weir-health"],
];

/** Longest time in which all images are built, in milliseconds: a minute on an idle machine. */
const BUILD_TIMEOUT_MS = 900_000;

/**
 * The archive of all images of the Dockerfile, of the built checkout at `root`, with the names and the tag of the charts or
 * with another `tag`; layers that images share are in it once.
 */
export async function weirImages(root = ROOT, tag?: string): Promise<string> {
  const key = contentKey(root, tag);
  const archive = join(toolsFolder(), `images-${key}.tar`);
  return await withLock(`weir-images-${key}`, BUILD_TIMEOUT_MS, async () => {
    if (existsSync(archive)) return archive;
    const folder = mkdtempSync(join(toolsFolder(), "building-images-"));
    try {
      const build = join(ROOT, "tools/images/build.ts");
      const made = join(folder, "images.tar");
      const args = [build, join(folder, "work"), "--archive", made, ...(tag === undefined ? [] : ["--tag", tag])];
      // eslint-disable-next-line no-restricted-syntax -- buildah needs the PATH; files of an earlier commit have no repository
      const env = { ...process.env, GIT_DIR: join(ROOT, ".git") };
      await run(process.execPath, args, { cwd: root, env, maxBuffer: 1 << 26 });
      renameSync(made, archive);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
    return archive;
  });
}

export interface ProgramImage {
  /** Its name, such as `localhost/redis:1`. */
  readonly name: string;
  /** Files and folders of this machine by their absolute path in the image; the first is the program. */
  readonly files: Readonly<Record<string, string>>;
}

/** Writes the archive of an image with one layer into `folder`; the program runs without a shell, as root. */
export async function programImage({ name, files }: ProgramImage, folder: string): Promise<string> {
  const work = mkdtempSync(join(folder, "image-"));
  const root = join(work, "root");
  const [[entrypoint, program]] = Object.entries(files) as [[string, string]];
  const libraries = (await librariesOf(program)).map((path) => [path, path] as const);
  for (const [path, file] of [...Object.entries(files), ...libraries]) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    cpSync(file, join(root, path), { dereference: true, recursive: true });
  }
  mkdirSync(join(root, "tmp"), { recursive: true });
  chmodSync(join(root, "tmp"), 0o1777);
  const layer = join(work, "layer.tar");
  await run("tar", ["-C", root, "--owner=0", "--group=0", "-cf", layer, "."]);
  const config = {
    architecture: process.arch === "arm64" ? "arm64" : "amd64",
    os: "linux",
    config: { Entrypoint: [entrypoint], Env: ["PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"] },
    rootfs: { type: "layers", diff_ids: [`sha256:${sha256(readFileSync(layer))}`] },
  };
  writeFileSync(join(work, "config.json"), JSON.stringify(config));
  const manifest = [{ Config: "config.json", RepoTags: [name], Layers: ["layer.tar"] }];
  writeFileSync(join(work, "manifest.json"), JSON.stringify(manifest));
  const archive = join(work, "image.tar");
  await run("tar", ["-C", work, "-cf", archive, "config.json", "layer.tar", "manifest.json"]);
  rmSync(root, { recursive: true });
  return archive;
}

/** The libraries and the loader that a program is linked with; none of a static one. */
async function librariesOf(program: string): Promise<readonly string[]> {
  const { stdout } = await run("ldd", [program]).catch(() => ({ stdout: "" })); // "not a dynamic executable"
  return [...stdout.matchAll(/(?:=> |^\s+)(\/\S+)/gm)].map(([, path = ""]) => path);
}

function contentKey(root: string, tag = ""): string {
  const hash = createHash("sha256").update(tag);
  for (const path of CONTENT.flatMap((pattern) => globSync(pattern, { cwd: root })).toSorted()) {
    hash.update(`${path}\0${sha256(readFileSync(join(root, path)))}\n`);
  }
  return hash.digest("hex").slice(0, KEY_LENGTH);
}

function sha256(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}
