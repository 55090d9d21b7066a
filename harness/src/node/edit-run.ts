// Edits limits in a row while parts of Weir are disturbed, and asks every pod that was ready before as soon as an edit is
// Ready: none may enforce an older one.
import { eventually } from "../processes/eventually.ts";
import { PodClient } from "../weir/pod.ts";
import type { NodePod } from "./node-access.ts";
import { DOMAIN, podUrl, type Product } from "./product.ts";

/** Longest wait for an edit to be Ready, in milliseconds. */
const EDIT_TIMEOUT_MS = 240_000;

/** Lines of a pod's log that show the state of its stream. */
const LOG_LINES = 6;

/** Something that happens to parts of Weir. */
export interface Disturbance {
  readonly name: string;
  /** Begins and ends it. */
  readonly happen: () => Promise<void>;
}

/** A ready pod that enforced an older limit than an edit that was Ready. */
export interface StalePod {
  readonly pod: string;
  readonly limit: number | undefined;
  readonly expected: number;
  /** The disturbance. */
  readonly during: string;
  /** Time from the return of `kubectl wait` to the answer, in milliseconds. */
  readonly answeredAfterMs: number;
  /** The end of its log, and the status of the resource. */
  readonly log: string;
  readonly status: string;
}

/** Numbers of edits and of answers of pods, and the stale pods. */
export interface EditReport {
  edits: number;
  answers: number;
  /** Pods that ended before they answered. */
  unanswered: number;
  readonly stale: StalePod[];
}

/**
 * Edits until all disturbances have happened one after the other, and again until there were `editsMin` edits. `edit`
 * resolves with the limit, larger each time, of the path `/open` when the resource is Ready.
 */
export async function editDuring(
  product: Product,
  edit: () => Promise<number>,
  { disturbances, editsMin }: { readonly disturbances: readonly Disturbance[]; readonly editsMin: number },
): Promise<EditReport> {
  const report: EditReport = { edits: 0, answers: 0, unanswered: 0, stale: [] };
  const questions: Promise<void>[] = [];
  const state = { during: "", isOver: false };
  const disturb = async (): Promise<void> => {
    try {
      do {
        for (const { name, happen } of disturbances) {
          state.during = name;
          await happen();
        }
      } while (report.edits < editsMin);
    } finally {
      state.isOver = true;
    }
  };
  const disturbing = disturb();
  // Read below; an edit that fails first must not leave it unhandled.
  disturbing.catch(() => undefined);
  const readyPods = async (): Promise<readonly NodePod[]> =>
    (await product.rateLimitPods()).filter(({ isReady }) => isReady);
  let before = await readyPods();
  while (!state.isOver) {
    const expected = await eventually("an edit to be Ready", edit, EDIT_TIMEOUT_MS);
    report.edits += 1;
    const context = { expected, during: state.during, readyMs: performance.now() };
    const pods = await readyPods();
    // A pod that becomes ready just after the edit did, such as one that was stopped, takes a moment to lack nothing.
    const asked = pods.filter(({ name }) => before.some((pod) => pod.name === name));
    // Not awaited: a pod that is stopped answers when it continues.
    for (const pod of asked) questions.push(ask(product, pod, context, report));
    before = pods;
  }
  await disturbing;
  await Promise.all(questions);
  return report;
}

/** Asks one pod, and adds its answer to the report. */
async function ask(
  product: Product,
  pod: NodePod,
  { expected, during, readyMs }: { readonly expected: number; readonly during: string; readonly readyMs: number },
  report: EditReport,
): Promise<void> {
  let limit: number | undefined;
  try {
    limit = await new PodClient(podUrl(pod)).limitOf(DOMAIN, { path: "/open", user: "probe" });
  } catch {
    report.unanswered += 1; // It was ready a moment ago, and has ended.
    return;
  }
  report.answers += 1;
  if (limit !== undefined && limit >= expected) return;
  const answeredAfterMs = Math.round(performance.now() - readyMs);
  const [log, status] = await Promise.all([
    product.node.logs(pod, `--tail=${LOG_LINES}`).catch(String),
    product.kubectl("get", "rlc/limits", "-o", "jsonpath={.status}").catch(String),
  ]);
  report.stale.push({ pod: pod.name, limit, expected, during, answeredAfterMs, log, status });
}
