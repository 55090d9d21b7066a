// The page of the console: watches every replica, and shows the view that the URL names.
import { render } from "preact";

import { merge } from "./model/merged.ts";
import { parseRoute, type Route, routeLink, type TriedRequest } from "./route.ts";
import { Replicas } from "./stream/replicas.ts";
import { openSession } from "./stream/session.ts";
import { app, titleOf } from "./view/app.ts";

/** How often the view changes at most, in milliseconds. */
const RENDER_INTERVAL_MS = 400;

/** How long a page that is not visible keeps watching, in milliseconds: pods report while it does. */
const HIDDEN_MS = 30_000;

/** Renders the page into this element. */
async function start(root: Element): Promise<void> {
  const replicas = new Replicas({ changed: () => renderSoon(), random: Math.random });
  let timer: ReturnType<typeof setTimeout> | undefined;
  let hiding: ReturnType<typeof setTimeout> | undefined;
  const filterChanged = (filter: string): void => {
    history.replaceState(null, "", routeLink({ view: "rollouts", filter }));
    show();
  };
  const tried = (request: TriedRequest): void => {
    location.hash = routeLink({ view: "try", request });
  };
  const currentRoute = (): Route | undefined => parseRoute(location.hash);
  const renderNow = (): void => {
    clearTimeout(timer);
    timer = undefined;
    const state = replicas.state();
    const merged = merge(state);
    render(app({ route: currentRoute(), merged, replicas: state.replicas.length, filterChanged, tried }), root);
  };
  function renderSoon(): void {
    timer ??= setTimeout(renderNow, RENDER_INTERVAL_MS);
  }
  function show(): void {
    const route = currentRoute();
    document.title = `${titleOf(route)} · Weir console`;
    replicas.look(route);
    renderNow();
  }
  await openSession();
  addEventListener("hashchange", () => {
    show();
    scrollTo(0, 0);
    document.getElementById("main")?.focus();
  });
  document.addEventListener("visibilitychange", () => {
    clearTimeout(hiding);
    if (document.hidden) hiding = setTimeout(() => replicas.close(), HIDDEN_MS);
    else replicas.open();
  });
  show();
  replicas.open();
}

const root = document.getElementById("console");
if (root !== null) void start(root);
