// The view of one rule in one fleet: its counts of ten minutes, and its keys.
import type { RuleInfo } from "@weir/proto/generated/weir/console/v1/console_pb";
import type { MergedFleetCounts } from "@weir/proto/observe/merged-counts";
import { resourceName } from "@weir/proto/rollout/merge-rollouts";
import { type Content, type Element, h } from "./element.ts";

import type { Merged } from "../model/merged.ts";
import { counted, countText, rateText, shareText, sinceText, timeText } from "../model/numbers.ts";
import { resourceState } from "../model/rollouts.ts";
import { countsOf, type KeyRow, type KeyTable, keyTables, ownersOf, rejectingSince } from "../model/rules.ts";
import { routeLink, type RuleAddress } from "../route.ts";
import { visible } from "../model/visible.ts";
import { responseTo } from "../stream/question.ts";
import { badge, fact, outside, section, table } from "./parts.ts";
import { plot } from "./plot.ts";

const PLOTS = [
  ["overLimit", "Over the limit"],
  ["hits", "Hits"],
  ["nearLimit", "Near the limit"],
  ["shadowMode", "Would be rejected, but for shadow mode"],
] as const;

/** The view. */
export function rulePage(rule: RuleAddress, merged: Merged): readonly (Element | null)[] {
  const fleet = merged.fleets.find(({ name }) => name === rule.fleet);
  return [
    h("dl", { class: "facts" }, facts(rule, merged, fleet)),
    ...changed(responseTo("GetRules", merged.answer)?.rules ?? []),
    section("Last ten minutes", plots(rule, fleet)),
    ...keys(rule, fleet),
  ];
}

function facts(
  rule: RuleAddress,
  { rollout, answer }: Merged,
  fleet: MergedFleetCounts | undefined,
): readonly Element[] {
  const owners = ownersOf(rule, rollout.resources);
  const counts = countsOf(fleet?.series, rule);
  const since = counts === undefined ? undefined : rejectingSince(counts, fleet?.series.endSeconds ?? 0);
  return [
    ...fact("Limit", limits(responseTo("GetRules", answer)?.rules)),
    ...fact("Domain", outside(rule.domain)),
    ...fact("Fleet", outside(rule.fleet)),
    ...fact(
      "Resource",
      owners.length === 0
        ? "none that is known has this domain"
        : owners.map(({ resource }) => {
            const name = resourceName(resource);
            const link = routeLink({ view: "rollouts", filter: name });
            return [
              h("a", { href: link }, outside(name)),
              " ",
              badge(...resourceState(resource)),
              " ",
              h("code", null, resource.location),
              " ",
            ];
          }),
    ),
    ...fact(
      "Now",
      counts === undefined
        ? "nothing counted"
        : `${rateText(counts.rate("overLimit"))} of ${rateText(counts.rate("hits"))} hits/s over the limit`,
    ),
    ...fact("Rejecting", since === undefined ? "not in the last minute" : sinceText(since)),
    ...fact("Data of", coverage(fleet)),
  ];
}

function limits(infos: readonly RuleInfo[] | undefined): Content {
  if (infos === undefined) return "not known yet";
  if (infos.length === 0) return "none: pods of this fleet are not sent this rule";
  return infos.map(({ limit, earlierLimit, shadowMode, field }) => [
    h("b", null, limit),
    shadowMode ? [" ", badge("shadow mode", "warning")] : null,
    earlierLimit === "" ? null : `, ${earlierLimit} in the revision before`,
    " ",
    h("code", null, field),
  ]);
}

/** The differences between the last revision and the one before. */
function changed(infos: readonly RuleInfo[]): readonly Element[] {
  const differences = infos.map(({ difference }) => difference).filter((text) => text !== "");
  if (differences.length === 0) return [];
  const tones: Readonly<Record<string, string>> = { "-": "bad", "+": "good" };
  const line = (text: string): Element => h("span", { class: tones[text.charAt(0)] }, `${visible(text)}\n`);
  return [
    section(
      "Changed since the revision before",
      differences.map((text) => h("pre", null, text.split("\n").map(line))),
    ),
  ];
}

function coverage(fleet: MergedFleetCounts | undefined): string {
  if (fleet === undefined) return "no pod: none of this fleet is connected";
  const without = fleet.pods - fleet.observedPods;
  const all = `${countText(fleet.observedPods)} of ${counted(fleet.pods, "pod")}`;
  return without === 0 ? all : `${all}; no data of the others, which do not report what they count`;
}

function plots(rule: RuleAddress, fleet: MergedFleetCounts | undefined): Element | readonly Element[] {
  if (fleet === undefined || fleet.observedPods === 0)
    return h("p", null, "No data: no pod of this fleet reports what it counts.");
  const counts = countsOf(fleet.series, rule);
  if (counts === undefined) return h("p", null, "The rule has counted no hit in the last ten minutes.");
  return PLOTS.filter(([count]) => count !== "shadowMode" || counts.sum(count) > 0).map(([count, title]) =>
    plot(title, counts.series(count), fleet.series.endSeconds),
  );
}

function keys(rule: RuleAddress, fleet: MergedFleetCounts | undefined): readonly Element[] {
  const tables = keyTables(rule, fleet?.keys ?? []);
  if (tables === undefined)
    return [
      section(
        "Keys",
        h("p", null, "No keys yet. Pods send them within seconds; without TOP_KEYS, and without hits, there are none."),
      ),
    ];
  const { sinceSeconds, byRejections, byHits } = tables;
  const since = h("p", { class: "quiet" }, `Counted since ${timeText(sinceSeconds)}.`);
  return [
    section("Keys with most rejections", [since, keyTable("Keys with most rejections", "Over limit", byRejections)]),
    section("Keys with most hits", [
      h("p", { class: "quiet" }, "Estimated: pods sample hits that pass."),
      keyTable("Keys with most hits", "Hits", byHits),
    ]),
  ];
}

function keyTable(label: string, head: string, { rows, othersMax }: KeyTable): Element | readonly Element[] {
  if (rows.length === 0) return h("p", null, "None.");
  return [
    table<KeyRow>(
      label,
      [
        { head: "Key", cell: ({ values }) => values.map((value) => h("code", { class: "key" }, outside(value))) },
        { head, kind: "number", cell: ({ count }) => countText(count) },
        { head: "Share", kind: "number", cell: ({ share }) => shareText(share) },
        { head: "Error", cell: ({ error }) => (error === 0 ? "exact" : `up to ${countText(error)} too high`) },
      ],
      rows,
      ({ values, count }) =>
        values.every((value) => !value.endsWith("(not shown)")) ? values.join("\n") : `${values.join("\n")} ${count}`,
    ),
    h(
      "p",
      { class: "quiet" },
      othersMax === 0 ? "There are no other keys." : `Any other key has at most ${countText(othersMax)}.`,
    ),
  ];
}
