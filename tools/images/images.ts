// The table of container images: the workspace of each, and the programs on its PATH.

/** A container image, which is also a target of the Dockerfile. */
export interface Image {
  readonly name: string;
  /** Workspaces whose launchers it has; the first is that of its main program. */
  readonly workspaces: readonly string[];
  /** Further paths of launchers, which existing manifests name. */
  readonly links?: Readonly<Record<string, string>>;
}

/** Every image. `weir-control-plane` also has the command line, which tests of an installation run. */
export const IMAGES: readonly Image[] = [
  { name: "weir-operator", workspaces: ["operator"] },
  { name: "weir-control-plane", workspaces: ["control-plane", "cli"] },
  // Deployments of envoyproxy/ratelimit start /bin/ratelimit; in the base /bin is a link to /usr/bin.
  { name: "weir-ratelimit", workspaces: ["ratelimit"], links: { "usr/bin/ratelimit": "weir-ratelimit" } },
  { name: "weir-account", workspaces: ["account"] },
  { name: "weir", workspaces: ["cli"] },
];
