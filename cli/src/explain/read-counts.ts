// Asks the control plane for the present counts of a request, which one pod of the fleet reads.
import type { Entry } from "@weir/limits/rules/rule";
import { ConsoleService, type PodCounts } from "@weir/proto/generated/weir/console/v1/console_pb";

import { CONSOLE, explainFailure } from "../rollout/failure.ts";
import { checkAccess, PROCESS, type RolloutContext, runInCluster } from "../rollout/rollout-command.ts";
import { connect, findTargets, nameOf, type Target } from "../rollout/rollout-client.ts";
import type { CountsFrom } from "./arguments.ts";

/** The request. */
export interface CountsQuestion {
  readonly fleet: string;
  readonly domain: string;
  readonly descriptors: readonly (readonly Entry[])[];
}

/**
 * The counts from the first replica with a pod that has read them; a text says why no replica has them. Fails with
 * ServiceError when replicas in a cluster cannot be found.
 */
export async function readCounts(
  context: RolloutContext,
  from: CountsFrom,
  question: CountsQuestion,
): Promise<PodCounts | string> {
  const options = checkAccess(from, context);
  if (typeof options === "string") return options;
  let counts: PodCounts | undefined;
  const reasons = new Set<string>();
  const ask = async ({ findReplicas }: Pick<typeof PROCESS, "findReplicas">): Promise<number> => {
    const targets = await findTargets(options.servers, { ...PROCESS, findReplicas, env: context.env });
    for (const target of targets) {
      const answer = await askReplica(target, { ...options, ...question, signal: context.signal });
      if (typeof answer === "string") reasons.add(answer);
      else {
        counts = answer;
        break;
      }
    }
    return 0;
  };
  if (options.replicas === undefined) await ask({});
  else await runInCluster(context, options.replicas, PROCESS, ask);
  return counts ?? (reasons.size > 0 ? [...reasons].join("; ") : "no replica of the control plane is found");
}

async function askReplica(
  target: Target,
  { access, signal, fleet, domain, descriptors }: CountsFrom & CountsQuestion & { readonly signal: AbortSignal },
): Promise<PodCounts | string> {
  const connection = connect(target, access, ConsoleService);
  if (typeof connection === "string") return connection;
  const { client, headers, close } = connection;
  const { answerTimeoutMs: timeoutMs } = PROCESS;
  try {
    const request = { fleet, domain, descriptors: descriptors.map((entries) => ({ entries: [...entries] })) };
    const response = await client.explainRequest({ ...request, withCounts: true }, { signal, headers, timeoutMs });
    const { counts, descriptors: explained } = response;
    if (counts === undefined && explained.some(({ counterKey }) => counterKey !== ""))
      return `${nameOf(target)} cannot ask pods for counts: its version is older`;
    if (counts === undefined) return "pods of the fleet count nothing for this request";
    return counts.error === "" ? counts : [counts.pod, counts.error].filter((text) => text !== "").join(": ");
  } catch (error) {
    return explainFailure(nameOf(target), error, timeoutMs, CONSOLE);
  } finally {
    close();
  }
}
