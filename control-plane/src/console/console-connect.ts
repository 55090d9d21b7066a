// The API of the console over HTTP/1.1. Import it lazily: its packages take time to load.
import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Log } from "@weir/common/log/log";
import {
  type ChangeSchema,
  ChangeKind,
  ConsoleService,
  type ExplainRequestRequest,
  type ExplainRequestResponse,
} from "@weir/proto/generated/weir/console/v1/console_pb";

import { type ConnectHandler, connectErrorOf, createConnectHandler } from "../report/connect-handler.ts";
import type { CounterQuestions } from "../observe/counter-questions.ts";
import type { ChangeLog, ResourceChange } from "./change-log.ts";
import type { ConsoleFeed } from "./console-feed.ts";
import { isCountsRequest, streamCounts } from "./counts-stream.ts";
import { explain, getRules, type PublishedRules } from "./published-rules.ts";

/** Most rules in one question for what differs in their resources. */
const DIFFERENCES_MAX = 32;

/** Most descriptors of a request that is explained. */
const DESCRIPTORS_MAX = 16;

/** Most entries of each. */
const ENTRIES_MAX = 32;

export interface ConsoleApiDeps {
  readonly feed: ConsoleFeed;
  readonly published: PublishedRules;
  readonly questions: Pick<CounterQuestions, "ask">;
  readonly changeLog: Pick<ChangeLog, "changes" | "sinceMs">;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  readonly log: Log;
}

const KINDS = {
  added: ChangeKind.ADDED,
  edited: ChangeKind.EDITED,
  removed: ChangeKind.REMOVED,
} as const satisfies Record<ResourceChange["kind"], ChangeKind>;

/** Makes the handler. */
export function createConsoleHandler(deps: ConsoleApiDeps): ConnectHandler {
  const { feed, published, changeLog, log } = deps;
  const handler = createConnectHandler(log, (router) => {
    router.service(ConsoleService, {
      getRules: (request) => {
        if (request.withDifference && request.rules.length > DIFFERENCES_MAX)
          refuse("rules", request.rules.length, DIFFERENCES_MAX);
        return getRules(published, request);
      },
      listChanges: () => ({
        changes: changeLog.changes.map(changeMessage),
        since: timestampFromMs(changeLog.sinceMs),
      }),
      explainRequest: (request) => explainWithCounts(deps, request),
      async *watchCounts({ fleet, keysOf }, { signal }) {
        try {
          yield* feed.watch({ fleet, keysOf }, signal);
        } catch (error) {
          throw connectErrorOf(error, log);
        }
      },
    });
  });
  return (request, response) => {
    if (isCountsRequest(request)) void streamCounts(deps, request, response);
    else handler(request, response);
  };
}

async function explainWithCounts(
  { published, questions, clock }: ConsoleApiDeps,
  request: ExplainRequestRequest,
): Promise<ExplainRequestResponse> {
  checkSize(request);
  const explained = explain(published, request, clock());
  const isCounted = explained.descriptors.some(({ counterKey }) => counterKey !== "");
  if (request.withCounts && isCounted) explained.counts = await questions.ask(request);
  return explained;
}

function refuse(what: string, count: number, max: number): never {
  throw new ConnectError(`${what} has ${count} items, at most ${max} are allowed`, Code.InvalidArgument);
}

/** Bounds the work: it is done in the thread that sends pods their rules. */
function checkSize({ descriptors }: ExplainRequestRequest): void {
  if (descriptors.length > DESCRIPTORS_MAX)
    refuse("Cannot explain the request: descriptors", descriptors.length, DESCRIPTORS_MAX);
  for (const [index, { entries }] of descriptors.entries())
    if (entries.length > ENTRIES_MAX)
      refuse(`Cannot explain the request: descriptors[${index}].entries`, entries.length, ENTRIES_MAX);
}

function changeMessage(change: ResourceChange): MessageInitShape<typeof ChangeSchema> {
  const { atMs, resource, kind, fleets, digest = "" } = change;
  const [namespace = "", name = ""] = resource.split("/");
  return { at: timestampFromMs(atMs), namespace, name, kind: KINDS[kind], fleets: [...fleets], digest };
}
