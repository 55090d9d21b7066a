// The view Try: which rule limits a request, why not the others, and the present counts. Nothing is counted.
import type {
  ExplainedDescriptor,
  ExplainedLevel,
  ExplainRequestResponse,
  PodCounts,
} from "@weir/proto/generated/weir/console/v1/console_pb";
import type { DescriptorCounts } from "@weir/proto/generated/weir/observe/v1/observe_pb";
import { countText } from "@weir/proto/explain/count-text";
import { parseDescriptor } from "@weir/proto/explain/descriptor-text";
import { TAKEN_VERDICTS, VERDICT_TEXTS } from "@weir/proto/explain/verdict-text";

import type { Merged } from "../model/merged.ts";
import { counted } from "../model/numbers.ts";
import { routeLink, type TriedRequest } from "../route.ts";
import { responseTo } from "../stream/question.ts";
import { type Content, type Element, h } from "./element.ts";
import { badge, fact, firstOf, outside, section, table } from "./parts.ts";

/** Rules of a level in the view. */
const RULES_MAX = 20;

/** The view. `tried` gets the request when it is submitted. */
export function tryPage(
  request: TriedRequest,
  merged: Merged,
  tried: (request: TriedRequest) => void,
): readonly (Element | null)[] {
  return [form(request, merged, tried), ...result(request, merged)];
}

/** Its fields keep what is typed: they have the values of the URL only at first. */
function form(request: TriedRequest, { fleets, rollout }: Merged, tried: (request: TriedRequest) => void): Element {
  const { fleet, domain, descriptors } = request;
  const domains = new Set(rollout.resources.map(({ resource }) => resource.domain));
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const fields = new FormData(event.currentTarget as HTMLFormElement);
    const text = (name: string): string => {
      const value = fields.get(name);
      return typeof value === "string" ? value : "";
    };
    const lines = text("descriptors").split(/\r?\n/);
    tried({
      fleet: text("fleet").trim(),
      domain: text("domain").trim(),
      descriptors: lines.filter((line) => line !== ""),
    });
  };
  const listed = (name: string, label: string, value: string, options: Iterable<string>): readonly Element[] => [
    h("label", { for: name }, label),
    h("input", { id: name, name, defaultValue: value, list: `${name}-list`, required: true, autocomplete: "off" }),
    h(
      "datalist",
      { id: `${name}-list` },
      Array.from(options, (option) => h("option", { key: option, value: option })),
    ),
  ];
  return h("form", { key: JSON.stringify(request), onSubmit: submit }, [
    ...listed(
      "fleet",
      "Fleet",
      fleet,
      fleets.map(({ name }) => name),
    ),
    ...listed("domain", "Domain", domain, domains),
    h("label", { for: "descriptors" }, "Descriptors"),
    h("textarea", {
      ...{ id: "descriptors", name: "descriptors", rows: 3, required: true, spellcheck: false },
      ...{ defaultValue: descriptors.join("\n"), "aria-describedby": "descriptors-hint" },
    }),
    h("p", { id: "descriptors-hint", class: "quiet" }, [
      "One line for each descriptor: ",
      h("code", null, "key=value,key=value"),
      "; a backslash before a comma, = or backslash of a key or value.",
    ]),
    h("button", { type: "submit" }, "Explain"),
  ]);
}

function result(request: TriedRequest, { answer }: Merged): readonly Element[] {
  const { domain, descriptors } = request;
  if (descriptors.length === 0) return [];
  const wrong = descriptors.map(parseDescriptor).find((entries) => typeof entries === "string");
  if (wrong !== undefined) return [problem(wrong)];
  const response = responseTo("ExplainRequest", answer);
  if (response === undefined) return [answer === undefined ? h("p", null, "Asking.") : problem(reasonIn(answer))];
  if (response.resource === "")
    return [h("p", null, ["No limit: the fleet has no rules for the domain ", outside(domain), "."])];
  return [
    h("dl", { class: "facts" }, [
      ...fact("Resource", resourceLink(response)),
      ...(response.counts === undefined ? [] : fact("Counts", countsFrom(response.counts))),
    ]),
    ...response.descriptors.map((descriptor, index) =>
      explained(request, { descriptor, counts: response.counts?.descriptors[index], index }),
    ),
  ];
}

/** The pod that has read the counts, or why there are none. */
function countsFrom({ pod, error }: PodCounts): Content {
  const name = pod === "" ? [] : [outside(pod)];
  if (error === "") return ["as the pod ", ...name, " reads them"];
  return [badge("not known", "warning"), " ", ...name, pod === "" ? "" : ": ", outside(error)];
}

function reasonIn(answer: NonNullable<Merged["answer"]>): string {
  return answer.method === undefined ? answer.reason : "";
}

function problem(text: string): Element {
  return h("p", { class: "bad", role: "alert" }, outside(text));
}

function resourceLink({ resource }: ExplainRequestResponse): Element {
  return h("a", { href: routeLink({ view: "rollouts", filter: resource }) }, outside(resource));
}

function explained(
  { fleet, domain, descriptors }: TriedRequest,
  {
    descriptor,
    counts,
    index,
  }: {
    readonly descriptor: ExplainedDescriptor;
    readonly counts: DescriptorCounts | undefined;
    readonly index: number;
  },
): Element {
  const { path, limits, shadowMode, counterKey, levels } = descriptor;
  return section(`Descriptor ${index + 1}`, [
    h("p", null, h("code", null, outside(descriptors[index] ?? ""))),
    h("dl", { class: "facts" }, [
      ...fact("Result", outcome(descriptor)),
      ...(path === ""
        ? []
        : fact("Rule", h("a", { href: routeLink({ view: "rule", rule: { fleet, domain, path } }) }, outside(path)))),
      ...(limits.length === 0
        ? []
        : fact(
            "Limit",
            limits.map((limit) => h("b", { key: limit }, `${limit} `)),
          )),
      ...(shadowMode ? fact("Shadow mode", "counted, never enforced") : []),
      ...(counterKey === "" ? [] : fact("Counter", h("code", null, outside(counterKey)))),
      ...(counts === undefined || counts.limits.length === 0 ? [] : fact("Count now", countsNow(counts, path))),
    ]),
    levels.map((level, depth) => levelRules(level, `Descriptor ${index + 1}, level ${depth + 1}`, depth)),
  ]);
}

/** The count of each limit. A pod may have other rules than those that are explained: it has not loaded them yet. */
function countsNow({ path, limits }: DescriptorCounts, explainedPath: string): Content {
  return [
    path === explainedPath ? null : h("div", { key: "rule" }, ["The pod has another rule: ", outside(path)]),
    ...limits.map((count) =>
      h("div", { key: count.limit }, [
        limits.length === 1 ? null : h("b", null, [outside(count.limit), ": "]),
        count.retrySeconds > 0 ? badge(countText(count), "warning") : countText(count),
      ]),
    ),
  ];
}

function outcome({ outcome: name, levels, limits, path }: ExplainedDescriptor): Content {
  switch (name) {
    case "limit":
      return badge(limits.length === 0 ? "unlimited" : "limited", "good");
    case "replaced":
      return [badge("replaced", "warning"), " the limit of another descriptor replaces this one"];
    case "no-rule":
      return [
        badge("no limit", "warning"),
        ` no rule of level ${levels.length} matches; other rules are not tried again`,
      ];
    case "too-many-entries":
      return [
        badge("no limit", "warning"),
        ` it has more entries than the rules on this way have levels: these end at level ${levels.length}`,
      ];
    case "needs-more-entries":
      return [badge("no limit", "warning"), " the rule has none; the rules below it need a further entry"];
    case "exempt":
      return [badge("no limit", "good"), " the rule has none, which exempts what it matches"];
    default: // Of a control plane of a later version.
      return [name, path];
  }
}

function levelRules({ entry, candidates }: ExplainedLevel, label: string, depth: number): Element {
  const near = candidates
    .filter(({ verdict }) => verdict !== "key-differs")
    .toSorted((one, other) => Number(TAKEN_VERDICTS.has(other.verdict)) - Number(TAKEN_VERDICTS.has(one.verdict)));
  const [shown, more] = firstOf(near, RULES_MAX, "kubectl weir explain");
  const strange = candidates.length - near.length;
  return h("div", { key: label }, [
    h("h3", null, [`Level ${depth + 1}: `, h("code", null, outside(`${entry?.key ?? ""}=${entry?.value ?? ""}`))]),
    shown.length === 0
      ? null
      : table(
          label,
          [
            { head: "Rule", cell: ({ rule }) => outside(rule) },
            {
              head: "Why",
              cell: ({ verdict }) => {
                const text: string = (VERDICT_TEXTS as Readonly<Record<string, string>>)[verdict] ?? verdict;
                return TAKEN_VERDICTS.has(verdict) ? badge(text, "good") : text;
              },
            },
          ],
          shown,
          ({ rule }) => rule,
        ),
    more,
    strange === 0 ? null : h("p", { class: "quiet" }, `${counted(strange, "rule")} with another key.`),
  ]);
}
