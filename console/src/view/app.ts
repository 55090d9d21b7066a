// The page: navigation, whether the data is new, and one of the views.
import { type Element, h } from "./element.ts";

import type { Merged } from "../model/merged.ts";
import { counted } from "../model/numbers.ts";
import { commandOf, type Route, routeLink, type TriedRequest } from "../route.ts";
import { nowPage } from "./now-page.ts";
import { outside } from "./parts.ts";
import { rolloutsPage } from "./rollouts-page.ts";
import { rulePage } from "./rule-page.ts";
import { tryPage } from "./try-page.ts";

const LINKS = [
  { name: "Now", route: { view: "now" } },
  { name: "Try", route: { view: "try", request: { fleet: "", domain: "", descriptors: [] } } },
  { name: "Roll-outs", route: { view: "rollouts", filter: "" } },
] as const satisfies readonly { readonly name: string; readonly route: Route }[];

export interface AppView {
  /** Undefined: the URL names none. */
  readonly route: Route | undefined;
  readonly merged: Merged;
  readonly replicas: number;
  readonly filterChanged: (text: string) => void;
  /** Shows what limits this request. */
  readonly tried: (request: TriedRequest) => void;
}

/** The title of a view. */
export function titleOf(route: Route | undefined): string {
  switch (route?.view) {
    case undefined:
      return "No such view";
    case "now":
      return "Now";
    case "rule":
      return route.rule.path;
    case "try":
      return "Try a request";
    case "rollouts":
      return "Roll-outs";
  }
}

/** The page. */
export function app(view: AppView): Element {
  const { route, merged, replicas } = view;
  return h("div", null, [
    h("header", { key: "header" }, [
      h("a", { class: "skip", href: "#main", onClick: skip }, "Skip to the content"),
      h("b", { class: "name" }, "Weir console"),
      h(
        "nav",
        { "aria-label": "Views" },
        LINKS.map((link) => navLink(link, route)),
      ),
      h(
        "span",
        { class: "quiet" },
        merged.hasBegun ? `${counted(replicas, "replica")} of the control plane` : "Connecting",
      ),
    ]),
    h(
      "div",
      { key: "notices", class: "notices", role: "status" },
      merged.notices.map((text) => h("p", { key: text }, outside(text))),
    ),
    h("main", { key: "main", id: "main", tabIndex: -1 }, [
      h("h1", { key: "title" }, outside(titleOf(route))),
      route === undefined
        ? h("p", null, "The address of this page names no view.")
        : h("p", { key: "command", class: "quiet" }, ["The same in a terminal: ", h("code", null, commandOf(route))]),
      ...(route === undefined || !merged.hasBegun ? [] : content(route, view)),
    ]),
  ]);
}

function content(route: Route, { merged, filterChanged, tried }: AppView): readonly (Element | null)[] {
  switch (route.view) {
    case "now":
      return nowPage(merged);
    case "rule":
      return rulePage(route.rule, merged);
    case "try":
      return tryPage(route.request, merged, tried);
    case "rollouts":
      return rolloutsPage(route.filter, merged, filterChanged);
  }
}

function navLink({ name, route }: (typeof LINKS)[number], current: Route | undefined): Element {
  const isCurrent = current?.view === route.view;
  return h("a", { key: name, href: routeLink(route), ...(isCurrent && { "aria-current": "page" as const }) }, name);
}

/** The fragment of the URL is the view: the link must not change it. */
function skip(event: Event): void {
  event.preventDefault();
  document.getElementById("main")?.focus();
}
