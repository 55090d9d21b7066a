// Access to a cluster of tests as the user who may do everything, from any process of this machine.
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

import { type AuditedRequest, readAudit } from "./audit-log.ts";

/** Longest output of kubectl, in bytes. */
const OUTPUT_MAX_BYTES = 64 * 1024 * 1024;

/** What kubectl did. */
export interface KubectlResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Where a cluster is; plain data, so that one process can pass it to another. */
export interface ClusterPlace {
  /** The API server, such as https://127.0.0.1:41234. */
  readonly url: string;
  /** Certificate of the authority that signed the API server's, PEM. */
  readonly caPem: string;
  /** Bearer token of a user who may do everything. */
  readonly adminToken: string;
  /** Where its files are; tests may put files of their own there. */
  readonly folder: string;
  /** Folder of the programs of Kubernetes. */
  readonly programs: string;
}

/** A cluster that runs. */
export class ClusterAccess implements ClusterPlace {
  readonly url: string;
  readonly caPem: string;
  readonly adminToken: string;
  readonly folder: string;
  readonly programs: string;

  constructor({ url, caPem, adminToken, folder, programs }: ClusterPlace) {
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
  async kubectl(args: readonly string[], input?: string): Promise<KubectlResult> {
    // What it keeps of an API server is kept by port, which another cluster may have had before.
    const own = ["--kubeconfig", this.kubeconfigPath, "--cache-dir", join(this.folder, "kubectl-cache")];
    return await runToEnd(this.kubectlPath, [...own, ...args], input);
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
    const { code, stderr } = await this.kubectl(
      ["apply", "--server-side", "--force-conflicts", "--validate=strict", "-f", "-"],
      manifests,
    );
    if (code !== 0) throw new Error(`kubectl apply failed: ${stderr.trim()}`);
  }
}

/** Runs a program of Kubernetes to its end; does not throw when it fails. */
export async function runToEnd(command: string, args: readonly string[], input?: string): Promise<KubectlResult> {
  const running = promisify(execFile)(command, args, { maxBuffer: OUTPUT_MAX_BYTES });
  running.child.stdin?.end(input);
  try {
    const { stdout, stderr } = await running;
    return { code: 0, stdout, stderr };
  } catch (error) {
    const { code, stdout = "", stderr = "" } = error as { code?: number | string; stdout?: string; stderr?: string };
    if (typeof code !== "number") throw error; // It could not even be started.
    return { code, stdout, stderr };
  }
}
