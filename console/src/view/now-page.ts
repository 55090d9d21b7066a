// The view Now: fleets, the rules that reject most, what is not served, pods.
import type { MergedFleetCounts } from "@weir/proto/observe/merged-counts";
import { podName, resourceName } from "@weir/proto/rollout/merge-rollouts";
import type { MergedResource, MergedRollout, ReplicaPod } from "@weir/proto/rollout/merged-rollout";
import { type Element, h } from "./element.ts";

import type { Merged } from "../model/merged.ts";
import { counted, countText, dateText, latencyText, rateText, sinceText } from "../model/numbers.ts";
import { byUrgency, podState, resourceState, troubledResources } from "../model/rollouts.ts";
import { rejectingSince, type RuleRow, topRules } from "../model/rules.ts";
import { routeLink } from "../route.ts";
import { badge, type Column, firstOf, outside, section, table, version, words } from "./parts.ts";
import { sparkline } from "./plot.ts";

/** Rules in the view. */
const RULES_MAX = 20;

/** Rows of other tables. */
const ROWS_MAX = 100;

/** The view. */
export function nowPage({ fleets, rollout }: Merged): readonly (Element | null)[] {
  return [
    trouble(rollout),
    section(
      "Fleets",
      fleets.length === 0 ? h("p", null, "No rate limit pod is connected.") : fleetTable(fleets, rollout),
    ),
    section("Rules with most rejections", rules(fleets)),
    section("Pods", pods(rollout.pods)),
  ];
}

/** The section on what is wrong: the problems as kubectl weir rollout lists them, and each resource with its reason. */
function trouble(rollout: MergedRollout): Element | null {
  const resources = troubledResources(rollout.resources);
  const { problems, unreadable } = rollout;
  if (problems.length === 0 && resources.length === 0 && unreadable.length === 0) return null;
  const [shown, more] = firstOf(resources, ROWS_MAX, "kubectl weir rollout");
  return section(
    "Not as written",
    [
      h(
        "ul",
        { key: "problems" },
        problems.map((problem) => h("li", { key: problem }, outside(problem))),
      ),
      shown.length === 0 ? null : table("Resources that are not served as written", TROUBLE, shown, nameOf),
      more,
      unreadable
        .slice(0, ROWS_MAX)
        .map(({ location, message, servesLastGood }) =>
          h("p", { key: `${location} ${message}` }, [
            h("code", null, location),
            servesLastGood ? " (what it had before stays active)" : "",
            words(message),
          ]),
        ),
    ],
    "alarm",
  );
}

const TROUBLE: readonly Column<MergedResource>[] = [
  { head: "Resource", cell: ({ resource }) => outside(resourceName(resource)) },
  { head: "State", cell: ({ resource }) => [badge(...resourceState(resource)), ` ${resource.reason}`] },
  {
    head: "Why",
    cell: ({ resource: { problems } }) =>
      problems.map(({ field, message, location }) => [
        field === "" && location === "" ? null : h("code", null, [location, field].filter(Boolean).join(" ")),
        words(message),
      ]),
  },
];

function nameOf({ resource }: MergedResource): string {
  return resourceName(resource);
}

function fleetTable(fleets: readonly MergedFleetCounts[], { fleets: published }: MergedRollout): Element {
  const unless = (fleet: MergedFleetCounts, text: string): string => (fleet.observedPods === 0 ? "no data" : text);
  const columns: readonly Column<MergedFleetCounts>[] = [
    { head: "Fleet", cell: ({ name }) => outside(name) },
    {
      head: "Pods",
      kind: "number",
      cell: ({ pods: all, observedPods }) =>
        all === observedPods ? countText(all) : `${countText(all)}, ${countText(all - observedPods)} without data`,
    },
    { head: "Decisions/s", kind: "number", cell: (fleet) => unless(fleet, rateText(fleet.series.rate("decisions"))) },
    { head: "Rejections/s", kind: "number", cell: (fleet) => unless(fleet, rateText(fleet.series.rate("rejections"))) },
    { head: "Errors/s", kind: "number", cell: (fleet) => unless(fleet, rateText(fleet.series.rate("errors"))) },
    { head: "p50", kind: "number", cell: (fleet) => unless(fleet, latencyText(fleet.series.latencyMs(0.5))) },
    { head: "p99", kind: "number", cell: (fleet) => unless(fleet, latencyText(fleet.series.latencyMs(0.99))) },
    {
      head: "Version",
      cell: ({ name }) => {
        const own = published.find((each) => each.name === name) ?? published.find((each) => each.name === "*");
        return (own?.versions ?? []).map((each) => [version(each), " "]);
      },
    },
  ];
  return table("Fleets", columns, fleets, ({ name }) => name);
}

function rules(fleets: readonly MergedFleetCounts[]): Element {
  const rows = topRules(fleets, RULES_MAX);
  if (rows.length === 0) return h("p", null, "No pod has counted a hit of a rule in the last ten minutes.");
  const ends = new Map(fleets.map(({ name, series }) => [name, series.endSeconds]));
  const total = (count: "overLimit" | "hits" | "nearLimit" | "shadowMode", head: string): Column<RuleRow> => ({
    head,
    kind: "number",
    cell: ({ counts }) => countText(counts.sum(count)),
  });
  const columns: readonly Column<RuleRow>[] = [
    { head: "Rule", cell: ({ rule }) => h("a", { href: routeLink({ view: "rule", rule }) }, outside(rule.path)) },
    { head: "Fleet", cell: ({ rule }) => outside(rule.fleet) },
    total("overLimit", "Over limit"),
    { head: "Over/s", kind: "number", cell: ({ counts }) => rateText(counts.rate("overLimit")) },
    {
      head: "Since",
      kind: "time",
      cell: ({ rule, counts }) => {
        const since = rejectingSince(counts, ends.get(rule.fleet) ?? 0);
        return since === undefined ? "" : sinceText(since);
      },
    },
    total("hits", "Hits"),
    total("nearLimit", "Near limit"),
    total("shadowMode", "Shadow mode"),
    {
      head: "Ten minutes",
      cell: ({ counts }) => {
        const label = `${countText(counts.sum("overLimit"))} over the limit in ten minutes`;
        return sparkline(counts.series("overLimit"), label);
      },
    },
  ];
  return table("Rules with most rejections in the last ten minutes", columns, rows, ({ rule }) => JSON.stringify(rule));
}

/** A table of pods, or that there is none. */
export function pods(all: readonly ReplicaPod[]): readonly (Element | null)[] {
  if (all.length === 0) return [h("p", null, "None.")];
  const [shown, more] = firstOf(
    byUrgency(all, ({ pod }) => podState(pod)[1]),
    ROWS_MAX,
    "kubectl weir rollout",
  );
  return [
    h(
      "p",
      { class: "quiet" },
      `${counted(all.filter(({ pod }) => podState(pod)[1] === "good").length, "pod")} of ${all.length} on the active version`,
    ),
    table("Pods", PODS, shown, ({ pod, replica }) => `${replica} ${pod.nodeId} ${pod.peer}`),
    more,
  ];
}

const PODS: readonly Column<ReplicaPod>[] = [
  { head: "Pod", cell: ({ pod }) => outside(podName(pod)) },
  { head: "Fleet", cell: ({ pod }) => outside(pod.fleet) },
  {
    head: "State",
    cell: ({ pod }) => [
      badge(...podState(pod)),
      pod.rejection === "" ? null : words(pod.rejection),
      pod.warnings.map((text) => words(text)),
    ],
  },
  { head: "Version", cell: ({ pod }) => version(pod.accepted?.version ?? "") },
  {
    head: "Connected",
    cell: ({ pod, replica }) => [
      pod.connectedAt === undefined ? "" : `since ${dateText(Number(pod.connectedAt.seconds))} `,
      h("span", { class: "quiet" }, ["from ", h("code", null, pod.peer), " to ", outside(replica)]),
    ],
  },
];
