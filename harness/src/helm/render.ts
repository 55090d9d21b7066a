// Renders a chart of the repository, and reads the objects of the rendering.
import { join } from "node:path";
import { fieldsOf, type Mapping } from "@weir/kubernetes/mapping";
import { parseAllDocuments, stringify } from "yaml";
import { CHARTS, helm, type HelmVersion } from "./helm.ts";

/** The Kubernetes that renderings are for: that of the API server of the tests. */
const KUBERNETES_VERSION = "1.33.0";

export interface Rendering {
  /** Folder of the chart below `charts`, such as weir. */
  readonly chart: string;
  /** Name of the release; that of the chart by default. */
  readonly release?: string;
  /** Namespace of the release; weir-system by default. */
  readonly namespace?: string;
  /** Values that differ from the defaults. */
  readonly values?: object;
  /** Version of Helm; 3 by default. */
  readonly helmVersion?: HelmVersion;
}

/** Helm refused to render a chart. The message is Helm's. */
class RenderError extends Error {
  override readonly name = "RenderError";
}

/** Renders a chart to YAML. Throws a RenderError with Helm's message. */
export async function renderYaml(rendering: Rendering): Promise<string> {
  const { chart, release = chart, namespace = "weir-system", values = {}, helmVersion: version = 3 } = rendering;
  const args = ["template", release, join(CHARTS, chart), "--namespace", namespace, "--values", "-"];
  const { code, stdout, stderr } = await helm([...args, "--kube-version", KUBERNETES_VERSION], stringify(values), {
    version,
  });
  if (code !== 0) throw new RenderError(stderr.trim());
  return stdout;
}

/** Renders a chart. Throws a RenderError with Helm's message. */
export async function renderChart(rendering: Rendering): Promise<RenderedChart> {
  return RenderedChart.parse(await renderYaml(rendering));
}

/** The objects of a rendering, in Helm's order. */
export class RenderedChart {
  readonly objects: readonly Mapping[];

  constructor(objects: readonly Mapping[]) {
    this.objects = objects;
  }

  static parse(yaml: string): RenderedChart {
    const documents = parseAllDocuments(yaml).map((document) => fieldsOf(document.toJS()));
    return new RenderedChart(documents.filter((object) => object["kind"] !== undefined));
  }

  /** The objects of a kind. */
  ofKind(kind: string): readonly Mapping[] {
    return this.objects.filter((object) => object["kind"] === kind);
  }

  /** The object of this kind and name; without a name the only one of its kind. Throws unless there is one. */
  only(kind: string, name?: string): Mapping {
    const found = this.ofKind(kind).filter((object) => name === undefined || nameOf(object) === name);
    const [object] = found;
    if (found.length !== 1 || object === undefined)
      throw new Error(`The chart has ${found.length} objects ${kind} ${name ?? ""}`.trim());
    return object;
  }
}

/** The name of an object. */
export function nameOf(object: Mapping): string {
  return String(fieldsOf(object["metadata"])["name"]);
}
