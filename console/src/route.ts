// The views and their URLs: the part after `#`. Pure.

/** A rule in a fleet. */
export interface RuleAddress {
  readonly fleet: string;
  readonly domain: string;
  /** As statistics name it. */
  readonly path: string;
}

/** A request that is tried. */
export interface TriedRequest {
  readonly fleet: string;
  readonly domain: string;
  /** Each as `key=value,key=value`. */
  readonly descriptors: readonly string[];
}

/** A view. */
export type Route =
  | { readonly view: "now" }
  | { readonly view: "rule"; readonly rule: RuleAddress }
  | { readonly view: "try"; readonly request: TriedRequest }
  | { readonly view: "rollouts"; readonly filter: string };

/** The view of a URL's fragment; undefined: there is none. */
export function parseRoute(fragment: string): Route | undefined {
  const [path = "", query = ""] = fragment.replace(/^#/, "").split("?", 2);
  const parts = decoded(path.split("/").slice(1));
  if (path === "" || path === "/") return { view: "now" };
  const [view, fleet, domain, rulePath, ...others] = parts ?? [];
  const values = new URLSearchParams(query);
  if (view === "rollouts" && fleet === undefined) return { view, filter: values.get("filter") ?? "" };
  if (view === "try" && fleet === undefined) {
    const of = (name: string): string => values.get(name) ?? "";
    return { view, request: { fleet: of("fleet"), domain: of("domain"), descriptors: values.getAll("descriptor") } };
  }
  if (view !== "rule" || fleet === undefined || domain === undefined || !rulePath || others.length > 0)
    return undefined;
  return { view, rule: { fleet, domain, path: rulePath } };
}

/** The fragment of a view. */
export function routeLink(route: Route): string {
  switch (route.view) {
    case "now":
      return "#/";
    case "rule":
      return `#/rule/${[route.rule.fleet, route.rule.domain, route.rule.path].map(encodeURIComponent).join("/")}`;
    case "try": {
      const { fleet, domain, descriptors } = route.request;
      if (fleet === "" && domain === "" && descriptors.length === 0) return "#/try";
      const values = [["fleet", fleet], ["domain", domain], ...descriptors.map((text) => ["descriptor", text])];
      return `#/try?${new URLSearchParams(values).toString()}`;
    }
    case "rollouts":
      return route.filter === "" ? "#/rollouts" : `#/rollouts?filter=${encodeURIComponent(route.filter)}`;
  }
}

/** The command that shows the same. */
export function commandOf(route: Route): string {
  switch (route.view) {
    case "now":
      return "kubectl weir top";
    case "rule":
      return `kubectl weir top keys --fleet ${quoted(route.rule.fleet)} ${quoted(route.rule.path)}`;
    case "try": {
      const { fleet, domain, descriptors } = route.request;
      const flags = [["--fleet", fleet], ["--domain", domain], ...descriptors.map((text) => ["-d", text])];
      const given = flags
        .filter(([, value = ""]) => value !== "")
        .map(([flag, value = ""]) => `${flag} ${quoted(value)}`);
      return ["kubectl weir explain -A", ...given, ...(fleet === "" ? [] : ["--counts"])].join(" ");
    }
    case "rollouts":
      return "kubectl weir rollout";
  }
}

function decoded(parts: readonly string[]): readonly string[] | undefined {
  try {
    return parts.map(decodeURIComponent);
  } catch {
    return undefined; // A % that encodes nothing.
  }
}

/** The word as a shell takes it. */
function quoted(word: string): string {
  return /^[\w.:/-][\w.:/=-]*$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
