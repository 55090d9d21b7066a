// Files that tests take from Go modules of other projects: definitions of their resources, and what their own tests
// expect. Copied from Go's module cache into the cache folder.
import { chmodSync, cpSync, existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { runCommand } from "../run-command.ts";

/** Files and folders of one version of a module. */
interface GoModuleFiles {
  readonly folder: string;
  readonly module: string;
  readonly version: string;
  /** Paths in the module; each is copied under its last segment. */
  readonly paths: readonly string[];
}

/** The files that the tests of docs/mesh.md and of monitoring need. */
const GO_MODULE_FILES: readonly GoModuleFiles[] = [
  {
    folder: "istio-api",
    module: "istio.io/api",
    version: "1.31.1",
    paths: ["kubernetes/customresourcedefinitions.gen.yaml"],
  },
  {
    folder: "prometheus-operator-crd",
    module: "github.com/prometheus-operator/prometheus-operator",
    version: "0.85.0",
    paths: ["example/prometheus-operator-crd"],
  },
  {
    folder: "envoy-gateway",
    module: "github.com/envoyproxy/gateway",
    version: "1.9.1",
    paths: [
      "charts/gateway-helm/charts/crds/crds/generated",
      "internal/infrastructure/kubernetes/ratelimit/testdata/deployments",
      "internal/infrastructure/kubernetes/ratelimit/testdata/envoy-ratelimit-configmap.yaml",
      "internal/xds/translator/testdata/out/ratelimit-config",
      "internal/xds/translator/testdata/out/xds-ir",
    ],
  },
];

/** Copies what is missing into `cache`, with the `go` on `path`. Returns the reason of a failure. */
export async function fetchGoModuleFiles(
  cache: string,
  path: string,
  say: (line: string) => void,
): Promise<string | undefined> {
  for (const { folder, module, version, paths } of GO_MODULE_FILES) {
    const target = join(cache, `${folder}-${version}`);
    if (existsSync(target)) continue;
    say(`Fetching files of ${module} ${version} into ${target}`);
    const command = ["go", "mod", "download", "-json", `${module}@v${version}`];
    const { code, output } = await runCommand(command, { env: { PATH: path, GOWORK: "off" } });
    if (code !== 0) return `"${command.join(" ")}" ended with exit code ${code}\n${output.trimEnd()}`;
    const { Dir: source } = JSON.parse(output) as { readonly Dir: string };
    copyFiles(source, target, paths);
  }
  return undefined;
}

/** The folder appears when it is complete. */
function copyFiles(source: string, target: string, paths: readonly string[]): void {
  const fresh = `${target}.${process.pid}`;
  mkdirSync(fresh, { recursive: true });
  for (const path of paths) {
    const copy = join(fresh, basename(path));
    cpSync(join(source, path), copy, { recursive: true });
    chmodSync(copy, 0o755); // Files of the module cache are read-only: a folder could not be deleted.
  }
  if (existsSync(target)) rmSync(fresh, { recursive: true });
  else renameSync(fresh, target);
}
