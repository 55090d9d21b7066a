// Renders the rollout report as an HTML page without scripts, which refreshes itself.
import type {
  FleetReport,
  PlaceReport,
  PodReportEntry,
  SyncStatusCounts,
  RefusalReport,
  ResourceReport,
  ResourceStatus,
  RolloutFilter,
  RolloutReport,
  VersionReport,
} from "../report/rollout/rollout-report.ts";
import { type Markup, markup, NOTHING, trusted } from "./markup.ts";
import { badge, table, type Tone } from "./page-parts.ts";
import { STATUS_STYLE } from "./status-style.ts";

/** How often the page refreshes itself, in seconds. */
const REFRESH_SECONDS = 5;

/** Characters of a version that are shown; the tooltip has all. */
const VERSION_SHOWN = 12;

/** Most rows of one table; further ones are counted. */
const ROWS_MAX = 1000;

/** The fields of the filter. */
const FILTERS = ["fleet", "namespace", "name"] as const;

/** Allows only the page's style and form: a mistake in escaping runs and loads nothing. */
export const CONTENT_SECURITY_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/** The filter, and whether the page refreshes itself. */
export interface StatusView {
  readonly filter: RolloutFilter;
  readonly isRefreshing: boolean;
}

/** The whole page. */
export function renderStatusPage(report: RolloutReport, view: StatusView = { filter: {}, isRefreshing: true }): string {
  return markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
${view.isRefreshing ? markup`<meta http-equiv="refresh" content="${REFRESH_SECONDS}">` : NOTHING}
<title>Weir control plane</title>
<style>${trusted(STATUS_STYLE)}</style>
</head>
<body>
<header>
<h1>Weir control plane ${report.ready ? badge("ready", "good") : badge("not ready", "bad")}</h1>
<p>Replica <b>${report.replica}</b>, reading <code>${report.source.location}</code>${renderSync(report.source.syncedAt)}</p>
${renderSummary(report)}
${renderFilter(view)}
</header>
<main>
${report.notReady === null ? NOTHING : markup`<section class="alarm"><h2>Not ready</h2><p>${report.notReady}</p></section>`}
${renderSourceError(report.source.error)}
${renderQuarantine(report.resources)}
${renderRefusals(report.refusals)}
${renderFleets(report.fleets)}
${renderPods(report.pods)}
${renderResources(report.resources, view.filter)}
</main>
<footer>${renderFooter(view)} Other formats: <a href="${linkTo("/status", view.filter, { format: "json" })}">JSON</a>, <a href="/metrics">metrics</a>. The pods are those connected to this replica.</footer>
</body>
</html>
`.text;
}

/** A link with the filter. */
function linkTo(path: string, filter: RolloutFilter, more: Readonly<Record<string, string>> = {}): string {
  const given = Object.entries({ ...filter, ...more }).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  const query = new URLSearchParams(given).toString();
  return query === "" ? path : `${path}?${query}`;
}

function renderFooter({ filter, isRefreshing }: StatusView): Markup {
  return isRefreshing
    ? markup`This page refreshes every ${REFRESH_SECONDS} seconds (<a href="${linkTo("/status", filter, { refresh: "off" })}">stop</a>).`
    : markup`This page does not refresh (<a href="${linkTo("/status", filter)}">refresh</a>).`;
}

function renderSync(syncedAt: string | null): Markup {
  return syncedAt === null ? markup`, not synchronised yet` : markup`, synchronised at ${renderTime(syncedAt)}`;
}

/** The main numbers. */
function renderSummary({ resources, pods, refusals }: RolloutReport): Markup {
  const count = (state: ResourceStatus): number => resources.filter((resource) => resource.state === state).length;
  const current = pods.filter(({ state }) => state === "current").length;
  const trouble = [
    { number: count("last-good"), what: "last good form", tone: "warning" as const },
    { number: count("refused"), what: "refused", tone: "bad" as const },
    { number: count("quarantined"), what: "quarantined", tone: "bad" as const },
    { number: refusals.filter(({ resource }) => resource === null).length, what: "unreadable", tone: "bad" as const },
  ].filter(({ number }) => number > 0);
  return markup`<p class="summary">${badge(`${count("served")} of ${resources.length} resources served`, trouble.length === 0 ? "good" : "warning")}
${trouble.map(({ number, what, tone }) => markup`${badge(`${number} ${what}`, tone)}\n`)}
${pods.length === 0 ? "no pod connected" : badge(`${current} of ${pods.length} pods current`, current === pods.length ? "good" : "warning")}</p>`;
}

/** Only a page that does not refresh has fields: a refresh would clear them. */
function renderFilter({ filter, isRefreshing }: StatusView): Markup {
  const given = FILTERS.filter((name) => filter[name] !== undefined);
  const all = given.length === 0 ? NOTHING : markup` <a href="/status">Show all</a>`;
  if (isRefreshing) {
    const shown = given.map((name) => markup`${name} <b>${filter[name] ?? ""}</b> `);
    const what = given.length === 0 ? markup`Everything is shown. ` : markup`Only ${shown}is shown. `;
    return markup`<p class="filter">${what}<a href="${linkTo("/status", filter, { refresh: "off" })}">Narrow down</a>${all}</p>`;
  }
  const fields = FILTERS.map(
    (name) => markup`<label>${name} <input name="${name}" value="${filter[name] ?? ""}"></label>\n`,
  );
  return markup`<form action="/status" method="get">${fields}<button>Show</button>${all}</form>`;
}

function renderSourceError(error: string | null): Markup {
  if (error === null) return NOTHING;
  return markup`<section class="alarm"><h2>The source cannot be read</h2><p>${error}</p><p>What was read before stays active.</p></section>`;
}

function renderQuarantine(resources: readonly ResourceReport[]): Markup {
  const quarantined = resources.filter(({ state }) => state === "quarantined");
  if (quarantined.length === 0) return NOTHING;
  const rows = quarantined
    .slice(0, ROWS_MAX)
    .map(({ resource, problems, servesLastGood }) => [
      resource,
      problems.map(({ message }) => markup`<pre>${message}</pre>`),
      servesLastGood ? "these pods serve an earlier form" : "these pods serve none",
    ]);
  return markup`<section class="alarm"><h2>NACKed by pods (${quarantined.length})</h2>${table(["Resource", "Why", "Meanwhile"], rows)}${renderRest(quarantined.length)}</section>`;
}

function renderRefusals(refusals: readonly RefusalReport[]): Markup {
  if (refusals.length === 0) return NOTHING;
  const rows = refusals
    .slice(0, ROWS_MAX)
    .map((refusal) => [
      markup`<code>${formatPlace(refusal)}</code>${refusal.resource === null ? "" : markup`<br>${refusal.resource}`}`,
      markup`<code>${refusal.field}</code>`,
      markup`${badge(refusal.reason, "bad")} ${refusal.message}`,
      refusal.keepsLastGood ? "the last good form is served" : "not served",
    ]);
  return markup`<section class="alarm"><h2>Refused (${refusals.length})</h2>${table(["Where", "Field", "Why", "Meanwhile"], rows)}${renderRest(refusals.length)}</section>`;
}

function renderFleets(fleets: readonly FleetReport[]): Markup {
  const everyOther = fleets.length === 1 ? "every" : "every other";
  const rows = fleets
    .slice(0, ROWS_MAX)
    .map((fleet) => [
      fleet.fleet === "*" ? everyOther : fleet.fleet,
      markup`${fleet.version === null ? "none yet" : renderVersion(fleet.version)} ${renderHold(fleet.heldBack)}`,
      fleet.resources,
      fleet.bytes,
      fleet.publishedAt === null ? "" : renderTime(fleet.publishedAt),
      renderPodStates(fleet),
    ]);
  return markup`<section><h2>Snapshots</h2>${table(["Fleet", "Version", "Resources", "Bytes", "Published", "Pods"], rows)}${renderRest(fleets.length)}</section>`;
}

function renderHold(heldBack: FleetReport["heldBack"]): Markup {
  switch (heldBack) {
    case null:
      return NOTHING;
    case "empty":
      return badge("no resource is left; published if that lasts", "warning");
    case "too-large":
      return badge("some resources do not fit", "bad");
  }
}

function renderPodStates({ pods, podStates }: { readonly pods: number; readonly podStates: SyncStatusCounts }): Markup {
  if (pods === 0) return markup`none connected`;
  const rejected = podStates.rejected === 0 ? NOTHING : badge(`${podStates.rejected} rejected`, "bad");
  return markup`${badge(`${podStates.current} of ${pods} current`, podStates.current === pods ? "good" : "warning")} ${rejected}`;
}

function renderPods(pods: readonly PodReportEntry[]): Markup {
  if (pods.length === 0)
    return markup`<section><h2>Pods</h2><p>No rate limit pod is connected to this replica.</p></section>`;
  const rows = pods
    .toSorted((left, right) => POD_ORDER[left.state] - POD_ORDER[right.state])
    .slice(0, ROWS_MAX)
    .map((pod) => [
      podTitle(pod),
      pod.fleet,
      markup`<code>${pod.peer}</code><br>since ${renderTime(pod.connectedAt)}`,
      markup`${badge(pod.state, POD_TONES[pod.state])}${renderWarnings(pod.warnings)}`,
      renderEvent(pod.accepted),
      markup`${renderEvent(pod.rejected)}${pod.rejected === null ? "" : markup`<pre>${pod.rejected.message}</pre>`}`,
    ]);
  const headings = ["Pod", "Fleet", "Address", "State", "Accepted", "Rejected"];
  return markup`<section><h2>Pods (${pods.length})</h2>${table(headings, rows)}${renderRest(pods.length)}</section>`;
}

function renderResources(resources: readonly ResourceReport[], filter: RolloutFilter): Markup {
  if (resources.length === 0) {
    const isNarrowed = FILTERS.some((name) => filter[name] !== undefined);
    return markup`<section><h2>Resources</h2><p>${isNarrowed ? "No resource matches." : "No resource is served."}</p></section>`;
  }
  const rows = resources
    .toSorted((left, right) => RESOURCE_ORDER[left.state] - RESOURCE_ORDER[right.state])
    .slice(0, ROWS_MAX)
    .map((resource) => [
      markup`<a href="${linkTo("/status", { namespace: resource.namespace, name: resource.name })}">${resource.resource}</a>`,
      resource.domain,
      resource.fleets === null ? "every" : resource.fleets.join(", "),
      markup`${badge(RESOURCE_WORDS[resource.state], RESOURCE_TONES[resource.state])} ${resource.reason ?? ""}${renderWarnings(resource.warnings)}`,
      resource.state === "refused" ? NOTHING : renderPodStates(resource),
      markup`<code>${formatPlace({ ...resource, column: 0 })}</code>`,
    ]);
  const headings = ["Resource", "Domain", "Fleets", "State", "Pods", "Where"];
  return markup`<section><h2>Resources (${resources.length})</h2>${table(headings, rows)}${renderRest(resources.length)}</section>`;
}

function renderWarnings(warnings: readonly string[]): Markup {
  if (warnings.length === 0) return NOTHING;
  const title = warnings.length === 1 ? "1 warning" : `${warnings.length} warnings`;
  return markup`<details><summary>${title}</summary>${warnings.map((text) => markup`<pre>${text}</pre>`)}</details>`;
}

function renderRest(count: number): Markup {
  return count <= ROWS_MAX ? NOTHING : markup`<p>And ${count - ROWS_MAX} more; use the filter above.</p>`;
}

/** The most urgent first. */
const POD_ORDER = { rejected: 0, pending: 1, waiting: 1, current: 2 } as const;
const RESOURCE_ORDER = { quarantined: 0, refused: 1, "last-good": 2, served: 3 } as const;

const RESOURCE_WORDS = {
  served: "served",
  "last-good": "last good form",
  refused: "refused",
  quarantined: "quarantined",
} as const;
const RESOURCE_TONES = {
  served: "good",
  "last-good": "warning",
  refused: "bad",
  quarantined: "bad",
} as const satisfies Record<ResourceStatus, Tone>;

const POD_TONES = { current: "good", rejected: "bad", pending: "warning", waiting: "warning" } as const;

function podTitle({ pod, node, namespace }: PodReportEntry): Markup {
  const details = [
    ...(pod === "" || node === "" ? [] : [node]),
    ...(namespace === "" ? [] : [`namespace ${namespace}`]),
  ];
  return markup`<b>${pod || node || "(no node id)"}</b>${details.map((detail) => markup`<br>${detail}`)}`;
}

function renderEvent(event: VersionReport | null): Markup {
  return event === null ? markup`none` : markup`${renderVersion(event.version)}<br>${renderTime(event.at)}`;
}

function renderVersion(version: string): Markup {
  return markup`<code title="${version}">${version.slice(0, VERSION_SHOWN)}</code>`;
}

function renderTime(time: string): Markup {
  return markup`<time datetime="${time}">${time.replace("T", " ").replace(/\.\d+Z$/, " UTC")}</time>`;
}

function formatPlace({ file, line, column }: PlaceReport): string {
  return [file, ...(line === 0 ? [] : [line]), ...(line === 0 || column === 0 ? [] : [column])].join(":");
}
