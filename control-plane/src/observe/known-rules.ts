// The rules that a pod can have: those of the response that it ACKed last.
import { modelOfResource } from "@weir/crds/rate-limit-config/translate/translate";
import { compositeKey, type DescriptorModel, limitsOf } from "@weir/limits/model/model";
import { limitPaths } from "@weir/limits/rules/limit-paths";
import type { RuleName } from "@weir/proto/generated/weir/observe/v1/observe_pb";

import type { SentRevisions } from "../pods/pod-revisions.ts";
import type { Revision } from "../snapshot/revision.ts";

/** Paths of limits by revision: most pods have the same ones. */
const paths = new WeakMap<Revision, ReadonlySet<string>>();

/** Rules by domain: found once for each response. */
const domains = new WeakMap<SentRevisions["snapshot"], ReadonlyMap<string, Revision>>();

/** Whether the response has a limit of this name. */
export function hasRule(sent: SentRevisions | undefined, { domain, path }: Pick<RuleName, "domain" | "path">): boolean {
  if (sent === undefined) return false;
  const { snapshot, names } = sent;
  const byDomain = domains.getOrInsertComputed(
    snapshot,
    () => new Map(snapshot.revisions.map((revision) => [revision.domain, revision])),
  );
  const revision = byDomain.get(domain);
  if (revision === undefined || names?.has(revision.name) === false) return false;
  return paths
    .getOrInsertComputed(revision, ({ manifest }) => {
      const { descriptors } = modelOfResource(manifest);
      return new Set(pathsBelow(domain, descriptors));
    })
    .has(path);
}

/** The paths of all limits, as statistics name them. */
function pathsBelow(parent: string, descriptors: readonly DescriptorModel[]): readonly string[] {
  return descriptors.flatMap((descriptor) => {
    const path = `${parent}.${compositeKey(descriptor)}`;
    return [...limitPaths(path, limitsOf(descriptor)), ...pathsBelow(path, descriptor.descriptors)];
  });
}
