// The programs that write files of this repository, each with the command that writes (`make
// generate`) and the one that compares (the gates).

export interface Generator {
  readonly name: string;
  /** Writes the files. */
  readonly write: readonly string[];
  /** Ends with an error and says what differs when a file is not as it would be written. */
  readonly check: readonly string[];
}

/** Runs TypeScript that imports workspaces as they are, unbuilt. */
const RUN_SOURCE = ["node", "--conditions=source"] as const;

/** Every generator, in the order in which one builds on another. */
export const GENERATORS: readonly Generator[] = [
  { name: "protobuf", write: ["sh", "proto/generate.sh"], check: ["sh", "proto/generate.sh", "--check"] },
  fromSource("settings of the data plane", "tools/generate/data-plane-settings.ts"),
  fromSource("crds", "crds/src/rate-limit-config/crd/generate.ts"),
  fromSource("crds of services", "crds/src/rate-limit-service/crd/generate.ts"),
  fromSource("crds of revisions", "crds/src/rate-limit-config-revision/crd/generate.ts"),
  fromSource("reference", "tools/generate/reference-docs.ts"),
  fromSource("charts", "tools/generate/chart-docs.ts"),
  fromSource("errors", "tools/generate/error-docs.ts"),
  fromSource("settings", "tools/generate/settings-docs.ts"),
  fromSource("account API", "tools/generate/account-docs.ts"),
  fromSource("account client", "tools/generate/account-client.ts"),
  fromSource("conformance", "tools/generate/conformance-docs.ts"),
  fromSource("benchmarks", "tools/generate/benchmark-docs.ts"),
  fromSource("operations", "tools/generate/operations-docs.ts"),
  fromSource("plot of limits", "tools/generate/limits-docs.ts"),
];

function fromSource(name: string, program: string): Generator {
  return { name, write: [...RUN_SOURCE, program], check: [...RUN_SOURCE, program, "--check"] };
}
