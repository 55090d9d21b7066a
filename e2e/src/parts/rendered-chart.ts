// Renders a chart of the repository with Helm, for tests that start what the chart describes.
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Mapping } from "@weir/kubernetes/mapping";
import { fieldsOf } from "@weir/kubernetes/mapping";
import { parseAllDocuments, stringify } from "yaml";
import { ROOT } from "./programs.ts";

/** The version that tools/test/test-setup.ts builds. */
const HELM_VERSION = "3.18.6";

/** The oldest Kubernetes that the tests run. */
const KUBERNETES_VERSION = "1.33.0";

/** The objects of a rendered chart. */
export class RenderedChart {
  readonly #objects: readonly Mapping[];

  constructor(objects: readonly Mapping[]) {
    this.#objects = objects;
  }

  /** The one object of this kind. */
  only(kind: string): Mapping {
    const found = this.#objects.filter((object) => object["kind"] === kind);
    const [object] = found;
    if (found.length !== 1 || object === undefined) throw new Error(`the chart has ${found.length} of kind ${kind}`);
    return object;
  }
}

/** Renders `charts/<chart>` as the release of that name, with `values`; `folder` is for the file of the values. */
export async function renderChart(chart: string, values: object, folder: string): Promise<RenderedChart> {
  const valuesPath = join(folder, `${chart}-values.yaml`);
  writeFileSync(valuesPath, stringify(values));
  // eslint-disable-next-line no-restricted-syntax -- the cache of the machine, where every tool of the tests is found
  const cache = process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache");
  const helm = join(cache, "weir", `helm-${HELM_VERSION}`, "bin", "helm");
  const args = ["template", chart, join(ROOT, "charts", chart), "--values", valuesPath];
  const { stdout } = await promisify(execFile)(helm, [...args, "--kube-version", KUBERNETES_VERSION]);
  return new RenderedChart(parseAllDocuments(stdout).map((document) => fieldsOf(document.toJS())));
}
