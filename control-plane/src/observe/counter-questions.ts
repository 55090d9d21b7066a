// Asks one pod of a fleet for the present counts of a request, which it reads by its own rules and does not change.
import { create } from "@bufbuild/protobuf";
import { type PodCounts, PodCountsSchema } from "@weir/proto/generated/weir/console/v1/console_pb";
import {
  type CountersRead,
  type Descriptor,
  type ReadCounters,
  ReadCountersSchema,
} from "@weir/proto/generated/weir/observe/v1/observe_pb";

/** Longest wait for the answer of a pod, in milliseconds. */
const ANSWER_MAX_MS = 2000;

/** A pod that may be asked. */
export interface AskedPod {
  readonly fleet: string;
  readonly nodeId: string;
  /** True if it answers such questions. */
  readonly readsCounters: boolean;
  /** Returns true if it has rules for the domain. */
  readonly hasDomain: (domain: string) => boolean;
  readonly ask: (question: ReadCounters) => void;
}

/** Takes the answers of one pod. */
export interface PodAnswers {
  /** Returns true while it owes an answer. */
  isAsked(): boolean;
  answered(read: CountersRead): void;
  left(): void;
}

/** The counters of a request. */
export interface CountersQuestion {
  readonly fleet: string;
  readonly domain: string;
  readonly descriptors: readonly Descriptor[];
}

/** A pod, and the question that it has not answered: a pod that hangs is not asked again. */
interface Asked {
  readonly pod: AskedPod;
  open:
    | { readonly question: ReadCounters; readonly resolve: (answer: Omit<PodCounts, "$typeName" | "pod">) => void }
    | undefined;
}

/** The pods of all fleets; each has at most one question at a time. */
export class CounterQuestions {
  /** In the order in which they came, so that the same one is asked each time. */
  readonly #pods = new Set<Asked>();
  #lastId = 0;

  add(pod: AskedPod): PodAnswers {
    const asked: Asked = { pod, open: undefined };
    this.#pods.add(asked);
    return {
      isAsked: () => asked.open !== undefined,
      answered: ({ id, error, descriptors }) => {
        const { open } = asked;
        if (open?.question.id !== id) return;
        asked.open = undefined;
        const isComplete = descriptors.length === open.question.descriptors.length;
        if (error === "" && !isComplete) open.resolve(without("the answer of the pod is not that to the question"));
        else open.resolve({ error, descriptors: error === "" ? descriptors : [] });
      },
      left: () => {
        this.#pods.delete(asked);
        asked.open?.resolve(without("the pod has disconnected"));
        asked.open = undefined;
      },
    };
  }

  /** Asks one pod. Never rejects: the answer says why there are no counts. */
  async ask({ fleet, domain, descriptors }: CountersQuestion): Promise<PodCounts> {
    const pods = [...this.#pods].filter(({ pod }) => pod.fleet === fleet && pod.hasDomain(domain));
    const able = pods.filter(({ pod }) => pod.readsCounters);
    const asked = able.find(({ open }) => open === undefined);
    const pod = (asked ?? pods[0])?.pod.nodeId ?? "";
    if (asked === undefined) return create(PodCountsSchema, { pod, ...without(whyNot(pods.length, able.length)) });
    const { promise, resolve } = Promise.withResolvers<Omit<PodCounts, "$typeName" | "pod">>();
    const question = create(ReadCountersSchema, { id: (this.#lastId += 1), domain, descriptors: [...descriptors] });
    asked.open = { question, resolve };
    const late = (): void => resolve(without(`the pod has not answered within ${ANSWER_MAX_MS / 1000} s`));
    const timer = setTimeout(late, ANSWER_MAX_MS);
    asked.pod.ask(question);
    const answer = await promise;
    clearTimeout(timer);
    return create(PodCountsSchema, { pod, ...answer });
  }
}

function without(error: string): Pick<PodCounts, "error" | "descriptors"> {
  return { error, descriptors: [] };
}

function whyNot(pods: number, able: number): string {
  if (pods === 0) return "no pod of the fleet that has the domain and can be asked is connected to this replica";
  return able === 0
    ? "the pod cannot read counts: its version is older"
    : "the pod reads counts for another request, try again";
}
