// The status report as a page for people: HTML without script, which loads itself again. Everything that comes from outside is escaped.
import { type Markup, markup, NOTHING, type Piece, trusted } from "./markup.ts";
import { STATUS_STYLE } from "./status-style.ts";
import type { FleetReport, PodReportEntry, RefusalReport, ResourceReport, RolloutReport, VersionReport } from "../report/rollout-report.ts";

/** How often an open page loads itself again, in seconds. */
const REFRESH_SECONDS = 5;

/** Characters of a version that are shown; the whole one is in the tooltip. */
const VERSION_SHOWN = 12;

/** Forbids everything but the style in the page itself, so that not even a mistake in escaping could run or load anything. */
export const CONTENT_SECURITY_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** The whole page. */
export function renderStatusPage(report: RolloutReport): string {
  return markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="refresh" content="${REFRESH_SECONDS}">
<title>Weir control plane</title>
<style>${trusted(STATUS_STYLE)}</style>
</head>
<body>
<header>
<h1>Weir control plane ${report.ready ? badge("ready", "good") : badge("not ready", "bad")}</h1>
<p>Replica <b>${report.replica}</b>, reading <code>${report.source.location}</code></p>
</header>
<main>
${renderSourceError(report.source.error)}
${renderRefusals(report.refusals)}
${renderFleets(report.fleets)}
${renderPods(report.pods)}
${renderResources(report.resources)}
</main>
<footer>This page loads itself again every ${REFRESH_SECONDS} seconds. The same as data: <a href="/status?format=json">JSON</a>, <a href="/metrics">metrics</a>.</footer>
</body>
</html>
`.text;
}

function renderSourceError(error: string | null): Markup {
  if (error === null) return NOTHING;
  return markup`<section class="alarm"><h2>The source cannot be read</h2><p>${error}</p><p>What was read before stays in force.</p></section>`;
}

function renderRefusals(refusals: readonly RefusalReport[]): Markup {
  if (refusals.length === 0) return NOTHING;
  const rows = refusals.map((refusal) => [
    markup`<code>${refusal.file}:${refusal.line}:${refusal.column}</code>${refusal.resource === null ? "" : markup`<br>${refusal.resource}`}`,
    markup`<code>${refusal.field}</code>`,
    markup`${badge(refusal.reason, "bad")} ${refusal.message}`,
    refusal.keepsLastGood ? "the last good form is served" : "not served",
  ]);
  return markup`<section class="alarm"><h2>Refused (${refusals.length})</h2>${table(["Where", "Field", "Why", "Meanwhile"], rows)}</section>`;
}

function renderFleets(fleets: readonly FleetReport[]): Markup {
  const everyOther = fleets.length === 1 ? "every" : "every other";
  const rows = fleets.map((fleet) => [
    fleet.fleet === "*" ? everyOther : fleet.fleet,
    markup`${fleet.version === null ? "none yet" : renderVersion(fleet.version)} ${renderHold(fleet.heldBack)}`,
    fleet.resources,
    fleet.bytes,
    fleet.publishedAt === null ? "" : renderTime(fleet.publishedAt),
    renderPodStates(fleet),
  ]);
  return markup`<section><h2>Snapshots</h2>${table(["Fleet", "Version", "Resources", "Bytes", "Published", "Pods"], rows)}</section>`;
}

function renderHold(heldBack: FleetReport["heldBack"]): Markup {
  switch (heldBack) {
    case null:
      return NOTHING;
    case "empty":
      return badge("nothing is left; published if it stays so", "warning");
    case "too-large":
      return badge("newer content is too large", "bad");
    case "rejected":
      return badge("pods rejected newer content as a whole", "bad");
  }
}

function renderPodStates({ pods, podStates }: FleetReport): Markup {
  if (pods === 0) return markup`none connected`;
  const rejected = podStates.rejected === 0 ? NOTHING : badge(`${podStates.rejected} rejected`, "bad");
  return markup`${badge(`${podStates.current} of ${pods} current`, podStates.current === pods ? "good" : "warning")} ${rejected}`;
}

function renderPods(pods: readonly PodReportEntry[]): Markup {
  if (pods.length === 0) return markup`<section><h2>Pods</h2><p>No rate limit pod is connected to this replica.</p></section>`;
  const rows = pods.map((pod) => [
    podTitle(pod),
    pod.fleet,
    markup`<code>${pod.peer}</code><br>since ${renderTime(pod.connectedAt)}`,
    badge(pod.state, POD_TONES[pod.state]),
    renderEvent(pod.accepted),
    markup`${renderEvent(pod.rejected)}${pod.rejected === null ? "" : markup`<pre>${pod.rejected.message}</pre>`}`,
  ]);
  const headings = ["Pod", "Fleet", "Address", "State", "Accepted", "Rejected"];
  return markup`<section><h2>Pods (${pods.length})</h2>${table(headings, rows)}</section>`;
}

function renderResources(resources: readonly ResourceReport[]): Markup {
  if (resources.length === 0) return markup`<section><h2>Resources</h2><p>No resource is served.</p></section>`;
  const rows = resources.map((resource) => [
    resource.resource,
    resource.domain,
    resource.fleets === null ? "every" : resource.fleets.join(", "),
    resource.state === "served" ? badge("served", "good") : badge("last good form", "warning"),
    markup`<code>${resource.file}:${resource.line}</code>`,
  ]);
  const headings = ["Resource", "Domain", "Fleets", "State", "Where"];
  return markup`<section><h2>Resources (${resources.length})</h2>${table(headings, rows)}</section>`;
}

const POD_TONES = { current: "good", rejected: "bad", pending: "warning", waiting: "warning" } as const;

/** A table; numbers stand at the right of their column. */
function table(headings: readonly string[], rows: readonly (readonly Piece[])[]): Markup {
  const isNumber = (column: number): boolean => rows.length > 0 && rows.every((row) => typeof row[column] === "number");
  const head = headings.map((heading, column) =>
    isNumber(column) ? markup`<th class="number">${heading}</th>` : markup`<th>${heading}</th>`,
  );
  const body = rows.map((row) => {
    const cells = row.map((cell, column) => (isNumber(column) ? markup`<td class="number">${cell}</td>` : markup`<td>${cell}</td>`));
    return markup`<tr>${cells}</tr>\n`;
  });
  return markup`<table><thead><tr>${head}</tr></thead>\n<tbody>\n${body}</tbody></table>`;
}

function podTitle({ pod, node, namespace }: PodReportEntry): Markup {
  const details = [...(pod === "" || node === "" ? [] : [node]), ...(namespace === "" ? [] : [`namespace ${namespace}`])];
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

function badge(text: string, tone: "good" | "warning" | "bad"): Markup {
  return markup`<span class="badge ${tone}">${text}</span>`;
}
