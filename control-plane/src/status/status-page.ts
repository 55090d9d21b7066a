// Renders the rollout report as an HTML page without scripts, which refreshes itself.
import type { SyncStatus } from "../pods/sync-status.ts";
import type {
  FleetReport,
  HoldReason,
  PodCounts,
  PodReportEntry,
  RefusalReport,
  ResourceReport,
  ResourceStatus,
  RolloutFilter,
  RolloutReport,
  VersionReport,
} from "../report/rollout/rollout-report.ts";
import type { SourceLocation } from "../source/source.ts";
import { type Markup, markup, NOTHING, trusted } from "./markup.ts";
import { badge, type Columns, section, table, type Tone } from "./page-parts.ts";
import { STATUS_STYLE } from "./status-style.ts";

/** How often the page refreshes itself, in seconds. */
const REFRESH_SECONDS = 5;

/** Characters of a version that are shown; the tooltip has all. */
const VERSION_SHOWN = 12;

/** The tone of each status, the most urgent first. */
const TONES = {
  quarantined: "bad",
  refused: "bad",
  rejected: "bad",
  "last-good": "warning",
  pending: "warning",
  waiting: "warning",
  served: "good",
  current: "good",
} as const satisfies Record<ResourceStatus | SyncStatus, Tone>;
const URGENCY = Object.keys(TONES);

const HOLDS = {
  empty: badge("no resource is left; published if that lasts", "warning"),
  "too-large": badge("some resources do not fit", "bad"),
} as const satisfies Record<HoldReason, Markup>;

/** The fields of the filter. */
const FILTERS = ["fleet", "namespace", "name"] as const;

/** Allows only the page's style and revision: a mistake in escaping runs and loads nothing. */
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
${report.notReady === null ? NOTHING : section("Not ready", markup`<p>${report.notReady}</p>`, "alarm")}
${report.source.error === null ? NOTHING : section("The source cannot be read", markup`<p>${report.source.error}</p><p>What was read before stays active.</p>`, "alarm")}
${renderAlarm("NACKed by pods", report.resources.filter(isQuarantined), QUARANTINE_COLUMNS)}
${renderAlarm("Refused", report.refusals, REFUSAL_COLUMNS)}
${section("Snapshots", table(fleetColumns(report.fleets.length), report.fleets))}
${renderPods(report.pods)}
${renderResources(report.resources, view.filter)}
</main>
<footer>${renderFooter(view)} <a href="/metrics">Metrics</a>. The pods are those connected to this replica.</footer>
</body>
</html>
`.text;
}

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
  const unreadable = refusals.filter(({ resource }) => resource === null).length;
  const trouble = [
    ...(["last-good", "refused", "quarantined"] as const).flatMap((state) => {
      const number = count(state);
      return number === 0 ? [] : badge(`${number} ${wordOf(state)}`, TONES[state]);
    }),
    ...(unreadable === 0 ? [] : [badge(`${unreadable} unreadable`, "bad")]),
  ];
  return markup`<p class="summary">${badge(`${count("served")} of ${resources.length} resources served`, trouble.length === 0 ? "good" : "warning")}
${trouble.map((each) => markup`${each}\n`)}
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
  return markup`<revision action="/status" method="get">${fields}<button>Show</button>${all}</revision>`;
}

function isQuarantined({ state }: ResourceReport): boolean {
  return state === "quarantined";
}

function renderAlarm<Row>(title: string, rows: readonly Row[], columns: Columns<Row>): Markup {
  return rows.length === 0 ? NOTHING : section(`${title} (${rows.length})`, table(columns, rows), "alarm");
}

const QUARANTINE_COLUMNS: Columns<ResourceReport> = {
  Resource: ({ resource }) => resource,
  Why: ({ problems }) => problems.map(({ message }) => markup`<pre>${message}</pre>`),
  Meanwhile: ({ servesLastGood }) =>
    servesLastGood ? "these pods serve an earlier revision" : "these pods serve none",
};

const REFUSAL_COLUMNS: Columns<RefusalReport> = {
  Where: (refusal) =>
    markup`<code>${formatLocation(refusal)}</code>${refusal.resource === null ? "" : markup`<br>${refusal.resource}`}`,
  Field: ({ field }) => markup`<code>${field}</code>`,
  Why: ({ reason, message }) => markup`${badge(reason, "bad")} ${message}`,
  Meanwhile: ({ keepsLastGood }) => (keepsLastGood ? "the last good revision is served" : "not served"),
};

function fleetColumns(count: number): Columns<FleetReport> {
  const others = count === 1 ? "every" : "every other";
  return {
    Fleet: ({ fleet }) => (fleet === "*" ? others : fleet),
    Version: ({ version, heldBack }) =>
      markup`${version === null ? "none yet" : renderVersion(version)} ${heldBack === null ? NOTHING : HOLDS[heldBack]}`,
    Resources: ({ resources }) => resources,
    Bytes: ({ bytes }) => bytes,
    Published: ({ publishedAt }) => (publishedAt === null ? "" : renderTime(publishedAt)),
    Pods: renderPodStates,
  };
}

function renderPodStates({ pods, podStates }: PodCounts): Markup {
  if (pods === 0) return markup`none connected`;
  const rejected = podStates.rejected === 0 ? NOTHING : badge(`${podStates.rejected} rejected`, "bad");
  return markup`${badge(`${podStates.current} of ${pods} current`, podStates.current === pods ? "good" : "warning")} ${rejected}`;
}

function renderPods(pods: readonly PodReportEntry[]): Markup {
  if (pods.length === 0) return section("Pods", markup`<p>No rate limit pod is connected to this replica.</p>`);
  return section(`Pods (${pods.length})`, table(POD_COLUMNS, mostUrgentFirst(pods)));
}

const POD_COLUMNS: Columns<PodReportEntry> = {
  Pod: ({ pod, node, namespace }) => {
    const details = [pod === "" ? "" : node, namespace === "" ? "" : `namespace ${namespace}`].filter(Boolean);
    return markup`<b>${pod || node || "(no node id)"}</b>${details.map((detail) => markup`<br>${detail}`)}`;
  },
  Fleet: ({ fleet }) => fleet,
  Address: ({ peer, connectedAt }) => markup`<code>${peer}</code><br>since ${renderTime(connectedAt)}`,
  State: ({ state, warnings }) => markup`${badge(state, TONES[state])}${renderWarnings(warnings)}`,
  Accepted: ({ accepted }) => renderEvent(accepted),
  Rejected: ({ rejected }) =>
    markup`${renderEvent(rejected)}${rejected === null ? "" : markup`<pre>${rejected.message}</pre>`}`,
};

function renderResources(resources: readonly ResourceReport[], filter: RolloutFilter): Markup {
  if (resources.length > 0)
    return section(`Resources (${resources.length})`, table(RESOURCE_COLUMNS, mostUrgentFirst(resources)));
  const isNarrowed = FILTERS.some((name) => filter[name] !== undefined);
  return section("Resources", markup`<p>${isNarrowed ? "No resource matches." : "No resource is served."}</p>`);
}

const RESOURCE_COLUMNS: Columns<ResourceReport> = {
  Resource: ({ resource, namespace, name }) =>
    markup`<a href="${linkTo("/status", { namespace, name })}">${resource}</a>`,
  Domain: ({ domain }) => domain,
  Fleets: ({ fleets }) => (fleets === null ? "every" : fleets.join(", ")),
  State: ({ state, reason, warnings }) =>
    markup`${badge(wordOf(state), TONES[state])} ${reason ?? ""}${renderWarnings(warnings)}`,
  Pods: (resource) => (resource.state === "refused" ? NOTHING : renderPodStates(resource)),
  Where: (resource) => markup`<code>${formatLocation({ ...resource, column: 0 })}</code>`,
};

function renderWarnings(warnings: readonly string[]): Markup {
  if (warnings.length === 0) return NOTHING;
  const title = warnings.length === 1 ? "1 warning" : `${warnings.length} warnings`;
  return markup`<details><summary>${title}</summary>${warnings.map((text) => markup`<pre>${text}</pre>`)}</details>`;
}

function mostUrgentFirst<Row extends { readonly state: keyof typeof TONES }>(rows: readonly Row[]): readonly Row[] {
  return rows.toSorted((left, right) => URGENCY.indexOf(left.state) - URGENCY.indexOf(right.state));
}

function wordOf(state: ResourceStatus): string {
  return state === "last-good" ? "last good revision" : state;
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

function formatLocation({ file, line, column }: SourceLocation): string {
  return [file, ...(line === 0 ? [] : [line]), ...(line === 0 || column === 0 ? [] : [column])].join(":");
}
