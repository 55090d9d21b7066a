// The status report as a page for people: HTML without script, which reloads itself. Everything that comes from outside is escaped.
import type { FleetReport, PodReportEntry, RefusalReport, ResourceReport, StatusReport, VersionReport } from "./status-report.ts";

/** How often an open page loads itself again, in seconds. */
const REFRESH_SECONDS = 5;

/** Characters of a version that are shown; the whole one is in the tooltip. */
const VERSION_SHOWN = 12;

/** Forbids everything but the style in the page itself, so that not even a mistake in escaping could run or load anything. */
export const CONTENT_SECURITY_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Text that is HTML already. Made by {@link html} only, so that what is not marked is escaped. */
class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** The whole page. */
export function renderStatusPage(report: StatusReport): string {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta http-equiv="refresh" content="${REFRESH_SECONDS}" />
        <title>Weir control plane</title>
        <style>
          ${STYLE}
        </style>
      </head>
      <body>
        <header>
          <h1>Weir control plane</h1>
          <p>
            Replica <b>${report.replica}</b>, ${report.ready ? badge("ready", "good") : badge("not ready", "bad")}, reading
            <code>${report.source.location}</code>
          </p>
        </header>
        <main>
          ${renderSourceError(report.source.error)} ${renderRefusals(report.refusals)} ${renderFleets(report.fleets)}
          ${renderPods(report.pods)} ${renderResources(report.resources)}
        </main>
        <footer>
          This page loads itself again every ${REFRESH_SECONDS} seconds. The same as data: <a href="/status?format=json">JSON</a>,
          <a href="/metrics">metrics</a>.
        </footer>
      </body>
    </html> `.text;
}

function renderSourceError(error: string | null): Html {
  if (error === null) return NOTHING;
  return html`<section class="alarm">
    <h2>The source cannot be read</h2>
    <p>${error}</p>
    <p>What was read before stays in force.</p>
  </section>`;
}

function renderRefusals(refusals: readonly RefusalReport[]): Html {
  if (refusals.length === 0) return NOTHING;
  return html`<section class="alarm">
    <h2>Refused (${refusals.length})</h2>
    <table>
      <thead>
        <tr>
          <th>Where</th>
          <th>Field</th>
          <th>Why</th>
          <th>Meanwhile</th>
        </tr>
      </thead>
      <tbody>
        ${refusals.map(
          (refusal) =>
            html`<tr>
              <td>
                <code>${refusal.file}:${refusal.line}:${refusal.column}</code
                >${refusal.resource === null ? "" : html`<br />${refusal.resource}`}
              </td>
              <td><code>${refusal.field}</code></td>
              <td>${badge(refusal.reason, "bad")} ${refusal.message}</td>
              <td>${refusal.keepsLastGood ? "the last good form is served" : "not served"}</td>
            </tr>`,
        )}
      </tbody>
    </table>
  </section>`;
}

function renderFleets(fleets: readonly FleetReport[]): Html {
  return html`<section>
    <h2>Snapshots</h2>
    <table>
      <thead>
        <tr>
          <th>Fleet</th>
          <th>Version</th>
          <th class="number">Resources</th>
          <th class="number">Bytes</th>
          <th>Published</th>
          <th>Pods</th>
        </tr>
      </thead>
      <tbody>
        ${fleets.map(
          (fleet) =>
            html`<tr>
              <td>${fleet.fleet === "*" ? "every other" : fleet.fleet}</td>
              <td>${fleet.version === null ? "none yet" : renderVersion(fleet.version)} ${renderHold(fleet.heldBack)}</td>
              <td class="number">${fleet.resources}</td>
              <td class="number">${fleet.bytes}</td>
              <td>${fleet.publishedAt === null ? "" : renderTime(fleet.publishedAt)}</td>
              <td>${renderPodStates(fleet)}</td>
            </tr>`,
        )}
      </tbody>
    </table>
  </section>`;
}

function renderHold(heldBack: FleetReport["heldBack"]): Html {
  switch (heldBack) {
    case null:
      return NOTHING;
    case "empty":
      return badge("nothing is left; published if it stays so", "warning");
    case "too-large":
      return badge("newer content is too large", "bad");
  }
}

function renderPodStates({ pods, podStates }: FleetReport): Html {
  if (pods === 0) return html`none connected`;
  const rejected = podStates.rejected === 0 ? NOTHING : badge(`${podStates.rejected} rejected`, "bad");
  const all = podStates.current === pods;
  return html`${badge(`${podStates.current} of ${pods} current`, all ? "good" : "warning")} ${rejected}`;
}

function renderPods(pods: readonly PodReportEntry[]): Html {
  if (pods.length === 0)
    return html`<section>
      <h2>Pods</h2>
      <p>No rate limit pod is connected to this replica.</p>
    </section>`;
  return html`<section>
    <h2>Pods (${pods.length})</h2>
    <table>
      <thead>
        <tr>
          <th>Pod</th>
          <th>Fleet</th>
          <th>Address</th>
          <th>State</th>
          <th>Accepted</th>
          <th>Rejected</th>
        </tr>
      </thead>
      <tbody>
        ${pods.map(
          (pod) =>
            html`<tr>
              <td>${podTitle(pod)}</td>
              <td>${pod.fleet}</td>
              <td><code>${pod.peer}</code><br />since ${renderTime(pod.connectedAt)}</td>
              <td>${badge(pod.state, POD_TONES[pod.state])}</td>
              <td>${renderEvent(pod.accepted)}</td>
              <td>${renderEvent(pod.rejected)}${pod.rejected === null ? "" : html`<pre>${pod.rejected.message}</pre>`}</td>
            </tr>`,
        )}
      </tbody>
    </table>
  </section>`;
}

function renderResources(resources: readonly ResourceReport[]): Html {
  if (resources.length === 0)
    return html`<section>
      <h2>Resources</h2>
      <p>No resource is served.</p>
    </section>`;
  return html`<section>
    <h2>Resources (${resources.length})</h2>
    <table>
      <thead>
        <tr>
          <th>Resource</th>
          <th>Domain</th>
          <th>Fleets</th>
          <th>State</th>
          <th>Where</th>
        </tr>
      </thead>
      <tbody>
        ${resources.map(
          (resource) =>
            html`<tr>
              <td>${resource.resource}</td>
              <td>${resource.domain}</td>
              <td>${resource.fleets === null ? "every" : resource.fleets.join(", ")}</td>
              <td>${resource.state === "served" ? badge("served", "good") : badge("last good form", "warning")}</td>
              <td><code>${resource.file}:${resource.line}</code></td>
            </tr>`,
        )}
      </tbody>
    </table>
  </section>`;
}

const POD_TONES = { current: "good", rejected: "bad", pending: "warning", waiting: "warning" } as const;

function podTitle({ pod, node, namespace }: PodReportEntry): Html {
  const name = pod || node || "(no node id)";
  const details = [...(pod === "" || node === "" ? [] : [node]), ...(namespace === "" ? [] : [`namespace ${namespace}`])];
  return html`<b>${name}</b>${details.map((detail) => html`<br />${detail}`)}`;
}

function renderEvent(event: VersionReport | null): Html {
  return event === null ? html`none` : html`${renderVersion(event.version)}<br />${renderTime(event.at)}`;
}

function renderVersion(version: string): Html {
  return html`<code title="${version}">${version.slice(0, VERSION_SHOWN)}</code>`;
}

function renderTime(time: string): Html {
  return html`<time datetime="${time}">${time.replace("T", " ").replace(/\.\d+Z$/, " UTC")}</time>`;
}

function badge(text: string, tone: "good" | "warning" | "bad"): Html {
  return html`<span class="badge ${tone}">${text}</span>`;
}

type Piece = string | number | Html | readonly Html[];

/** A template that escapes every piece that is not HTML already. */
function html(strings: TemplateStringsArray, ...pieces: readonly Piece[]): Html {
  return new Html(strings.map((text, index) => text + renderPiece(pieces[index] ?? "")).join(""));
}

function renderPiece(piece: Piece): string {
  if (piece instanceof Html) return piece.text;
  if (typeof piece === "string") return escapeText(piece);
  return typeof piece === "number" ? String(piece) : piece.map(({ text }) => text).join("");
}

function escapeText(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

const NOTHING = new Html("");

const STYLE = new Html(`
:root { color-scheme: light dark; --line: #d5dae0; --soft: #f5f7f9; --good: #1a7f4b; --warning: #9a6200; --bad: #b3261e; --quiet: #5a6572; }
@media (prefers-color-scheme: dark) {
  :root { --line: #38414b; --soft: #1c2229; --good: #5fd39a; --warning: #f0b95a; --bad: #ff8f86; --quiet: #9aa6b2; }
}
body { font: 15px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 76rem; padding: 1.5rem 1rem; }
h1 { font-size: 1.4rem; margin: 0; }
h2 { font-size: 1.1rem; margin: 0 0 .5rem; }
header p, footer { color: var(--quiet); }
section { margin: 1.75rem 0; overflow-x: auto; }
section.alarm { border-left: 4px solid var(--bad); padding-left: 1rem; }
table { border-collapse: collapse; width: 100%; }
th, td { border-bottom: 1px solid var(--line); padding: .45rem .75rem .45rem 0; text-align: left; vertical-align: top; }
th { color: var(--quiet); font-size: .85rem; font-weight: 600; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
code, pre { font: .9em ui-monospace, monospace; overflow-wrap: anywhere; }
pre { background: var(--soft); margin: .3rem 0 0; padding: .4rem .6rem; white-space: pre-wrap; }
.badge { border: 1px solid currentcolor; border-radius: 1rem; font-size: .8rem; padding: .05rem .55rem; white-space: nowrap; }
.good { color: var(--good); } .warning { color: var(--warning); } .bad { color: var(--bad); }
`);
