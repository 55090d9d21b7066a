// Finds nodes by an SRV record, in an order on which all pods agree.
import { ServiceError } from "@weir/common/errors/service-error";

/** `_service._proto.name`, as envoyproxy/ratelimit parses it. */
const SRV_NAME = /^_.+?\._.+?\..+$/;

export interface SrvAnswer {
  readonly name: string;
  readonly port: number;
}

/** Looks an SRV record up by its whole name. */
export type ResolveSrv = (record: string) => Promise<readonly SrvAnswer[]>;

/** Why the name of a record is invalid, in the words of envoyproxy/ratelimit; undefined when it is not. */
export function findSrvProblem(record: string): string | undefined {
  return SRV_NAME.test(record) ? undefined : `could not parse ${record} to SRV parts`;
}

/**
 * The nodes as `target:port`, sorted as envoyproxy/ratelimit sorts them: as text, with the dot that
 * ends an absolute name in DNS.
 */
export function nodesOfAnswers(answers: readonly SrvAnswer[]): readonly string[] {
  return answers
    .map(({ name, port }) => {
      const target = name.replace(/\.$/, "");
      return { sortKey: `${target}.:${port}`, text: `${target}:${port}` };
    })
    .sort((a, b) => (a.sortKey < b.sortKey ? -1 : 1))
    .map(({ text }) => text);
}

/**
 * Looks up the nodes. Fails with STORE_UNAVAILABLE when the record cannot be found or has no
 * answers.
 */
export async function lookUpNodes(record: string, resolveSrv: ResolveSrv): Promise<readonly string[]> {
  let answers: readonly SrvAnswer[];
  try {
    answers = await resolveSrv(record);
  } catch (cause) {
    throw srvError(record, cause);
  }
  if (answers.length === 0) throw srvError(record, new Error("the record has no answers"));
  return nodesOfAnswers(answers);
}

function srvError(record: string, cause: unknown): ServiceError<"STORE_UNAVAILABLE"> {
  return new ServiceError("STORE_UNAVAILABLE", `Unable to fetch servers from SRV ${record}`, {
    cause,
    transient: true,
  });
}
