// Tests of counter-questions.ts.
import { create } from "@bufbuild/protobuf";
import {
  type CountersRead,
  CountersReadSchema,
  DescriptorSchema,
  type ReadCounters,
} from "@weir/proto/generated/weir/observe/v1/observe_pb";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { type AskedPod, CounterQuestions, type PodAnswers } from "./counter-questions.ts";

const QUESTION = { fleet: "web", domain: "shop", descriptors: [create(DescriptorSchema)] };

const NO_POD = "no pod of the fleet that has the domain and can be asked is connected to this replica";

/** A pod that keeps what it is asked. */
class KeepingPod {
  readonly asked: ReadCounters[] = [];
  readonly answers: PodAnswers;

  constructor(questions: CounterQuestions, options: Partial<AskedPod> = {}) {
    this.answers = questions.add({
      ...{ fleet: "web", nodeId: "web/pod", readsCounters: true, hasDomain: (domain) => domain === "shop" },
      ask: (question) => this.asked.push(question),
      ...options,
    });
  }

  answer(fields: Partial<Pick<CountersRead, "id" | "error">> & { readonly paths?: readonly string[] } = {}): void {
    const { id = this.asked.at(-1)?.id ?? 0, error = "", paths = ["shop.user"] } = fields;
    this.answers.answered(create(CountersReadSchema, { id, error, descriptors: paths.map((path) => ({ path })) }));
  }
}

describe("CounterQuestions", () => {
  let questions: CounterQuestions;

  beforeEach(() => {
    vi.useFakeTimers();
    questions = new CounterQuestions();
  });

  afterEach(() => {
    vi.useRealTimers();
  });

  it("asks one pod of the fleet, each time the same", async () => {
    const pods = [1, 2].map((index) => new KeepingPod(questions, { nodeId: `web/pod-${index}` }));
    for (let time = 1; time <= 2; time++) {
      const answer = questions.ask(QUESTION);
      expect(pods.map(({ answers }) => answers.isAsked())).toEqual([true, false]);
      pods[0]?.answer();
      expect(await answer).toMatchObject({ pod: "web/pod-1", error: "", descriptors: [{ path: "shop.user" }] });
    }
    expect(pods.map(({ asked }) => asked.length)).toEqual([2, 0]);
    expect(pods[0]?.asked[0]).toMatchObject({ domain: "shop", descriptors: [{}] });
  });

  it.each([
    { what: "of another fleet", options: { fleet: "other" }, pod: "", error: NO_POD },
    { what: "without the domain", options: { hasDomain: () => false }, pod: "", error: NO_POD },
    {
      what: "of an older version",
      options: { readsCounters: false },
      pod: "web/pod",
      error: "the pod cannot read counts: its version is older",
    },
  ])("does not ask a pod $what", async ({ options, pod, error }) => {
    const other = new KeepingPod(questions, options);
    expect(await questions.ask(QUESTION)).toMatchObject({ pod, error, descriptors: [] });
    expect(other.asked).toEqual([]);
  });

  it("asks another pod while one owes an answer, and none when all do", async () => {
    const [one, two] = [1, 2].map((index) => new KeepingPod(questions, { nodeId: `web/pod-${index}` }));
    const answers = [questions.ask(QUESTION), questions.ask(QUESTION)];
    expect(await questions.ask(QUESTION)).toMatchObject({
      error: "the pod reads counts for another request, try again",
    });
    two?.answer();
    one?.answer();
    expect((await Promise.all(answers)).map(({ pod }) => pod)).toEqual(["web/pod-1", "web/pod-2"]);
  });

  it("takes the answer to its own question alone: not a late one, and not that of another pod", async () => {
    const [one, two] = [new KeepingPod(questions), new KeepingPod(questions, { fleet: "other" })];
    const late = questions.ask(QUESTION);
    await vi.advanceTimersByTimeAsync(2000);
    expect(await late).toMatchObject({ pod: "web/pod", error: "the pod has not answered within 2 s" });
    expect(await questions.ask(QUESTION)).toMatchObject({
      error: "the pod reads counts for another request, try again",
    });
    one.answer({ paths: ["late"] });
    const next = questions.ask(QUESTION);
    one.answer({ id: one.asked[0]!.id, paths: ["late"] });
    two.answer({ id: one.asked[1]!.id, paths: ["foreign"] });
    one.answer();
    expect(await next).toMatchObject({ error: "", descriptors: [{ path: "shop.user" }] });
  });

  it.each([
    {
      what: "an answer of another length",
      run: (pod: KeepingPod) => pod.answer({ paths: [] }),
      error: "the answer of the pod is not that to the question",
    },
    {
      what: "an error of the pod",
      run: (pod: KeepingPod) => pod.answer({ error: "the store is away", paths: [] }),
      error: "the store is away",
    },
    { what: "a pod that leaves", run: (pod: KeepingPod) => pod.answers.left(), error: "the pod has disconnected" },
  ])("says why there are no counts after $what", async ({ run, error }) => {
    const pod = new KeepingPod(questions);
    const answer = questions.ask(QUESTION);
    run(pod);
    expect(await answer).toMatchObject({ pod: "web/pod", error, descriptors: [] });
  });
});
