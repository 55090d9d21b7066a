// Access to a cluster of tests as the user who may do everything, from any process of this machine.
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { eventually } from "../processes/eventually.ts";
import { ROOT } from "../processes/programs.ts";
import { type ProgramResult, runToEnd } from "../processes/run-to-end.ts";
import { type AuditedRequest, readAudit } from "./audit-log.ts";
import { ClusterApi, type ClusterPlace } from "./cluster-api.ts";
import { kubeconfigText } from "./cluster-files.ts";

const WEIR_API = "/apis/ratelimit.weir.dev/v1alpha1";

/** A cluster that runs. */
export class ClusterAccess implements ClusterPlace {
  readonly url: string;
  readonly caPem: string;
  readonly adminToken: string;
  readonly folder: string;
  readonly programs: string;
  /** Requests without kubectl. */
  readonly api: ClusterApi;

  constructor(place: ClusterPlace) {
    const { url, caPem, adminToken, folder, programs } = place;
    this.api = new ClusterApi(place);
    this.url = url;
    this.caPem = caPem;
    this.adminToken = adminToken;
    this.folder = folder;
    this.programs = programs;
  }

  /** A kubeconfig of the user who may do everything. */
  get kubeconfigPath(): string {
    return join(this.folder, "kubeconfig");
  }

  /** The program kubectl, for tests that run it as another user. */
  get kubectlPath(): string {
    return join(this.programs, "kubectl");
  }

  /**
   * Runs kubectl as the user who may do everything; `input` is its standard input. Does not throw
   * when kubectl fails.
   */
  async kubectl(args: readonly string[], input?: string): Promise<ProgramResult> {
    // kubectl caches data of an API server under its port, which another cluster may have had before.
    const own = ["--kubeconfig", this.kubeconfigPath, "--cache-dir", join(this.folder, "kubectl-cache")];
    return await runToEnd(this.kubectlPath, [...own, ...args], input);
  }

  /** The same; throws with what kubectl said when it fails, and returns its output. */
  async run(args: readonly string[], input?: string): Promise<string> {
    const { code, stdout, stderr } = await this.kubectl(args, input);
    if (code !== 0) throw new Error(`kubectl ${args.join(" ")} failed: ${stderr.trim()}`);
    return stdout;
  }

  /** The requests of Weir's accounts so far, of a cluster that is audited. */
  audit(): readonly AuditedRequest[] {
    return readAudit(this.folder);
  }

  /**
   * Applies manifests on the server's side, with strict checks; throws with the message of kubectl
   * when one is invalid.
   */
  async apply(manifests: string): Promise<void> {
    await this.run(["apply", "--server-side", "--force-conflicts", "--validate=strict", "-f", "-"], manifests);
  }

  /** Throws unless a node is ready. */
  async requireReadyNode(): Promise<void> {
    const nodes = await this.run(["get", "nodes", "--no-headers"]);
    if (!nodes.includes(" Ready ")) throw new Error(`No node is ready: ${nodes}`);
  }

  /** Makes namespaces. */
  async createNamespaces(...names: readonly string[]): Promise<void> {
    const objects = names.map((name) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } }));
    await this.apply(objects.map((object) => JSON.stringify(object)).join("\n---\n"));
  }

  /** Installs the definitions of kinds of Weir by their plural names. */
  async installKinds(...plurals: readonly string[]): Promise<void> {
    for (const plural of plurals)
      await this.installKind(plural, readFileSync(join(ROOT, "crds/crds", `${plural}.yaml`), "utf8"));
  }

  /** Installs one, and waits until the API server serves it: it reports a kind as established somewhat before. */
  async installKind(plural: string, definition: string): Promise<void> {
    await this.apply(definition);
    await eventually(`${plural} to be served`, () => this.api.list(`${WEIR_API}/${plural}`));
  }

  /** Applies one RateLimitConfig, named `<namespace>/<name>`; throws with the server's message when it is invalid. */
  async applyConfig(key: string, manifest: string): Promise<void> {
    const { status, text } = await this.api.send("PATCH", `${configPath(key)}?fieldManager=test&force=true`, manifest);
    if (status >= 300) throw new Error(`The API server rejected it: ${text}`);
  }

  /** Deletes one if it exists. */
  async deleteConfig(key: string): Promise<void> {
    const { status, text } = await this.api.send("DELETE", configPath(key));
    if (status >= 300 && status !== 404) throw new Error(`The API server rejected it: ${text}`);
  }

  /** A kubeconfig of one user, by default the one who may do everything, with further fields of its cluster. */
  kubeconfig(fields: object = {}, token = this.adminToken): string {
    return kubeconfigText(this.url, this.caPem, token, fields);
  }

  /** A token of a service account. */
  async tokenOf(account: string, namespace: string): Promise<string> {
    return (await this.run(["create", "token", account, `--namespace=${namespace}`])).trim();
  }
}

function configPath(key: string): string {
  const [namespace, name] = key.split("/");
  return `${WEIR_API}/namespaces/${namespace}/ratelimitconfigs/${name}`;
}
