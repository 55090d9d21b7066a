// The view Roll-outs: each resource in each fleet, with the pods that wait or have NACKed it.
import { type Change, ChangeKind, type ListChangesResponse } from "@weir/proto/generated/weir/console/v1/console_pb";
import { resourceName } from "@weir/proto/rollout/merge-rollouts";
import type { MergedFleet, MergedResource, MergedRollout } from "@weir/proto/rollout/merged-rollout";
import { holdText } from "@weir/proto/rollout/rollout-problems";
import { type Element, h } from "./element.ts";

import type { Merged } from "../model/merged.ts";
import { countText, dateText } from "../model/numbers.ts";
import { byUrgency, fleetStates, matches, podMatches, resourceState } from "../model/rollouts.ts";
import { responseTo } from "../stream/question.ts";
import { pods } from "./now-page.ts";
import { badge, type Column, firstOf, outside, section, table, version, words } from "./parts.ts";

/** Resources in the view. */
const RESOURCES_MAX = 100;

/** Pods that are named for one resource in one fleet. */
const TROUBLED_MAX = 20;

/** The view. `filterChanged` gets what is typed. */
export function rolloutsPage(
  filter: string,
  { rollout, answer }: Merged,
  filterChanged: (text: string) => void,
): readonly (Element | null)[] {
  const resources = rollout.resources.filter((resource) => matches(resource, filter));
  const [shown, more] = firstOf(
    byUrgency(resources, ({ resource }) => resourceState(resource)[1]),
    RESOURCES_MAX,
    "narrow down, or kubectl weir rollout",
  );
  return [
    h("p", null, [
      h("label", { for: "filter" }, "Name, domain, fleet or replica has "),
      h("input", {
        id: "filter",
        type: "search",
        value: filter,
        onInput: ({ currentTarget }: { readonly currentTarget: HTMLInputElement }) =>
          filterChanged(currentTarget.value),
      }),
    ]),
    section("Versions", rollout.fleets.length === 0 ? h("p", null, "None.") : versions(rollout)),
    section("Resources", [
      resources.length === 0 ? h("p", null, "None.") : table("Resources", columnsOf(rollout), shown, nameOf),
      more,
    ]),
    section("Last changes", changes(filter, responseTo("ListChanges", answer))),
    section("Connected pods", pods(rollout.pods.filter((pod) => podMatches(pod, filter)))),
  ];
}

const KINDS: Readonly<Record<ChangeKind, string>> = {
  [ChangeKind.UNSPECIFIED]: "changed",
  [ChangeKind.ADDED]: "added",
  [ChangeKind.EDITED]: "edited",
  [ChangeKind.REMOVED]: "removed",
};

/** The changes that a replica has published since its start. */
function changes(filter: string, response: ListChangesResponse | undefined): Element | readonly Element[] {
  if (response === undefined) return h("p", null, "Not known yet.");
  const since = Number(response.since?.seconds ?? 0);
  const named = ({ namespace, name, fleets }: Change): boolean =>
    [`${namespace}/${name}`, ...fleets].some((text) => text.includes(filter));
  const rows = response.changes.filter(named);
  return [
    h("p", { class: "quiet" }, since === 0 ? "Not known yet." : `The last hundred since ${dateText(since)}.`),
    rows.length === 0
      ? h("p", null, "None.")
      : table<Change>(
          "Last changes",
          [
            { head: "Time", kind: "time", cell: ({ at }) => dateText(Number(at?.seconds ?? 0)) },
            { head: "Resource", cell: ({ namespace, name }) => outside(`${namespace}/${name}`) },
            { head: "Change", cell: ({ kind }) => KINDS[kind] },
            { head: "Fleets", cell: ({ fleets }) => (fleets.length === 0 ? "every" : outside(fleets.join(", "))) },
            { head: "Content", cell: ({ digest }) => version(digest) },
          ],
          rows,
          ({ at, namespace, name }) => `${at?.seconds}.${at?.nanos} ${namespace}/${name}`,
        ),
  ];
}

function nameOf({ resource }: MergedResource): string {
  return resourceName(resource);
}

function versions({ fleets, replicas }: MergedRollout): Element {
  const published = (fleet: string): string => {
    const times = replicas.flatMap(({ rollout }) => {
      const at = rollout?.fleets.find(({ name }) => name === fleet)?.publishedAt?.seconds;
      return at === undefined ? [] : [Number(at)];
    });
    return times.length === 0 ? "" : dateText(Math.max(...times));
  };
  const bytes = (fleet: string): number =>
    Math.max(
      0,
      ...replicas.map(({ rollout }) => Number(rollout?.fleets.find(({ name }) => name === fleet)?.bytes ?? 0)),
    );
  const columns: readonly Column<MergedFleet>[] = [
    { head: "Fleet", cell: ({ name }) => (name === "*" ? "every other" : outside(name)) },
    {
      head: "Version",
      cell: ({ versions: all, holds }) => [
        all.length === 0 ? "none yet" : all.map((each) => [version(each), " "]),
        all.length > 1 ? badge("replicas differ", "warning") : null,
        holds.map((hold) => words(`newer content is held back: ${holdText(hold)}`)),
      ],
    },
    { head: "Published", kind: "time", cell: ({ name }) => published(name) },
    { head: "Resources", kind: "number", cell: ({ resources }) => countText(resources) },
    { head: "Bytes", kind: "number", cell: ({ name }) => countText(bytes(name)) },
    {
      head: "Pods",
      cell: ({ pods: { total, accepted, rejected, pending } }) => podCounts(total, accepted, rejected, pending),
    },
  ];
  return table("Versions", columns, fleets, ({ name }) => name);
}

function podCounts(
  total: number,
  accepted: number,
  rejected: number,
  pending: number,
): readonly (Element | string | null)[] {
  if (total === 0) return ["none connected"];
  return [
    badge(`${countText(accepted)} of ${countText(total)} accepted`, accepted === total ? "good" : "warning"),
    rejected === 0 ? null : badge(`${countText(rejected)} rejected`, "bad"),
    pending === 0 ? null : badge(`${countText(pending)} waiting`, "warning"),
  ];
}

function columnsOf(rollout: MergedRollout): readonly Column<MergedResource>[] {
  return [
    {
      head: "Resource",
      cell: ({ resource }) => [
        outside(resourceName(resource)),
        h("div", { class: "quiet" }, h("code", null, resource.location)),
      ],
    },
    { head: "Domain", cell: ({ resource }) => outside(resource.domain) },
    {
      head: "State",
      cell: ({ resource }) => [
        badge(...resourceState(resource)),
        ` ${resource.reason}`,
        resource.problems.map(({ field, message }) => words(field === "" ? message : `${field}: ${message}`)),
        resource.warnings.map((text) => words(text)),
      ],
    },
    { head: "Fleets", cell: ({ resource }) => inFleets(resource.fleets, resourceName(resource), rollout) },
  ];
}

function inFleets(named: readonly string[], resource: string, rollout: MergedRollout): Element | string {
  const states = fleetStates(resource, rollout);
  if (states.length === 0) return named.length === 0 ? "every" : named.join(", ");
  return h(
    "ul",
    { class: "fleets" },
    states.map(({ fleet, accepted, troubled }) => {
      const [shown, more] = firstOf(troubled, TROUBLED_MAX, "kubectl weir rollout");
      const rejecting = troubled.filter(({ isRejecting }) => isRejecting).length;
      return h("li", { key: fleet }, [
        fleet === "*" ? "every other" : outside(fleet),
        " ",
        podCounts(accepted + troubled.length, accepted, rejecting, troubled.length - rejecting),
        shown.map(({ name, isRejecting, message }) =>
          h("div", { key: name }, [
            outside(name),
            isRejecting ? " has NACKed it" : " has not answered yet",
            message === "" ? null : words(message),
          ]),
        ),
        more,
      ]);
    }),
  );
}
