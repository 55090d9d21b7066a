// The one table of what the repository is made of: its workspaces, which may import which, and the
// order of the folders inside each. The import gate and the documentation generators read it; it
// holds no rule of its own.

/** One workspace: a top-level folder with a package.json. */
export interface Workspace {
  readonly name: string;
  /** Workspaces that its sources and tests may import. */
  readonly mayImport: readonly string[];
  /** Workspaces that only its tests may import. */
  readonly testsMayImport?: readonly string[];
  /**
   * Folders and files under `src/`, in dependency order: each may import what precedes it.
   * Files that are not listed come last, with main.ts.
   */
  readonly order: readonly string[];
  /**
   * Folders under `src/` whose sub-folders are alternatives of each other and must not know each
   * other; `folder/{a,b}` names some of its sub-folders.
   */
  readonly alternatives?: readonly string[];
}

/** Every workspace, in dependency order. */
export const WORKSPACES: readonly Workspace[] = [
  { name: "proto", mayImport: [], order: ["generated", "grpc", "rollout", "observe", "explain"] },
  {
    name: "limits",
    mayImport: ["proto"],
    order: ["model", "go-yaml", "validate", "rule-file", "window", "cell", "rules", "classify", "ownership", "explain"],
  },
  {
    name: "common",
    mayImport: [],
    testsMayImport: ["harness", "certificates"],
    order: [
      "errors.ts",
      "errors",
      "backoff",
      "text",
      "settings",
      "timers",
      "log",
      "files",
      "callers",
      "net",
      "lifecycle",
      "secrets",
      "tls",
      "grpc",
      "tracing",
      "admin",
      "order",
      "turn",
    ],
  },
  {
    name: "crds",
    mayImport: ["proto", "limits", "common"],
    testsMayImport: ["harness"],
    order: ["schema", "rate-limit-config", "rate-limit-service", "rate-limit-config-revision"],
  },
  {
    name: "http2",
    mayImport: [],
    testsMayImport: ["harness", "certificates"],
    order: [
      "hpack",
      "frames",
      "headers",
      "flow",
      "grpc",
      "limits",
      "output",
      "streams",
      "connection",
      "server",
      "fuzz",
      "attacks",
    ],
  },
  { name: "certificates", mayImport: ["common"], order: ["usages.ts", "authority.ts", "inspect.ts"] },
  {
    name: "kubernetes",
    mayImport: ["common"],
    testsMayImport: ["harness", "certificates"],
    order: ["mapping.ts", "access", "client", "reflector"],
  },
  { name: "console", mayImport: ["proto"], order: ["route.ts", "stream", "model", "view"] },
  {
    name: "control-plane",
    mayImport: ["proto", "limits", "crds", "common", "http2", "kubernetes"],
    testsMayImport: ["harness", "certificates"],
    order: ["errors.ts", "source", "translate", "snapshot", "pods", "observe", "ads", "report", "status", "console"],
    alternatives: ["source"],
  },
  {
    name: "operator",
    mayImport: ["proto", "limits", "crds", "common", "kubernetes", "certificates"],
    testsMayImport: ["harness"],
    order: [
      "errors.ts",
      "leader",
      "reports",
      "reconcile",
      "status",
      "revisions",
      "events",
      "certificates",
      "workload",
      "scope",
      "webhook",
      "settings.ts",
    ],
  },
  {
    name: "ratelimit",
    mayImport: ["proto", "limits", "common", "http2"],
    testsMayImport: ["harness", "certificates"],
    order: [
      "errors.ts",
      "statistics",
      "health",
      "config",
      "counters",
      "observe",
      "decide",
      "transport",
      "settings",
      "settings.ts",
      "startup",
      "workers",
    ],
    alternatives: ["config", "counters", "counters/redis/{single,cluster,sentinel}", "transport/{weir,json,debug}"],
  },
  {
    name: "account",
    mayImport: ["proto", "common"],
    testsMayImport: ["harness"],
    order: [
      "client",
      "page",
      "errors.ts",
      "fairness",
      "mail",
      "media",
      "sessions",
      "passwords",
      "store",
      "users",
      "throttle",
      "api",
      "metrics",
      "http",
      "settings",
    ],
    alternatives: ["store", "media/{local,s3}"],
  },
  {
    name: "cli",
    mayImport: ["proto", "limits", "crds", "common", "kubernetes"],
    testsMayImport: ["harness", "certificates"],
    order: [
      "errors.ts",
      "command-line",
      "cluster",
      "check",
      "config-check",
      "rollout",
      "explain",
      "simulate",
      "convert",
      "status",
      "shadow",
      "top",
      "console",
      "client",
      "weir.ts",
    ],
  },
  {
    name: "dev",
    mayImport: ["proto", "limits", "crds", "common", "certificates"],
    testsMayImport: ["harness"],
    order: ["errors.ts", "settings.ts", "processes", "setup", "output"],
  },
  {
    name: "charts",
    mayImport: ["kubernetes"],
    testsMayImport: ["harness"],
    order: ["values", "chart-files.ts"],
  },
  {
    name: "harness",
    mayImport: ["proto", "kubernetes", "certificates", "dev"],
    order: ["processes", "servers", "envoy", "kubernetes", "helm", "http2", "ads", "weir", "pages", "node"],
  },
  {
    name: "e2e",
    mayImport: ["proto", "limits", "crds", "common", "http2", "kubernetes", "certificates", "dev", "harness"],
    order: ["errors.ts", "docs", "conformance", "scenarios", "benchmarks", "images", "soak", "fuzz", "attacks"],
  },
];

/** Folder of the programs that check, test and generate. Workspaces do not know it. */
export const TOOLS_FOLDER = "tools";

/** Matches the path of a file that only tests run. */
export const TEST_FILE = /\.(test|suite)\.ts$/;
