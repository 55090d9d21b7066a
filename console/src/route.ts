// The views and their URLs: the part after `#`. Pure.

/** A rule in a fleet. */
export interface RuleAddress {
  readonly fleet: string;
  readonly domain: string;
  /** As statistics name it. */
  readonly path: string;
}

/** A view. */
export type Route =
  | { readonly view: "now" }
  | { readonly view: "rule"; readonly rule: RuleAddress }
  | { readonly view: "rollouts"; readonly filter: string };

/** The view of a URL's fragment; undefined: there is none. */
export function parseRoute(fragment: string): Route | undefined {
  const [path = "", query = ""] = fragment.replace(/^#/, "").split("?", 2);
  const parts = decoded(path.split("/").slice(1));
  if (path === "" || path === "/") return { view: "now" };
  const [view, fleet, domain, rulePath, ...others] = parts ?? [];
  if (view === "rollouts" && fleet === undefined)
    return { view, filter: new URLSearchParams(query).get("filter") ?? "" };
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
  return /^[\w.:/-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
