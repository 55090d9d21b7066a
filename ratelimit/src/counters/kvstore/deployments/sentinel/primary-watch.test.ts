// Whom the watch asks, in which order, and when.
import { createBackoff } from "@weir/common/backoff/backoff";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { PrimaryWatch } from "./primary-watch.ts";

/** A question to a sentinel that the test answers. */
interface Question {
  readonly sentinel: string;
  readonly atMs: number;
  answer(text: string): Promise<void>;
  fail(text: string): Promise<void>;
}

let questions: Question[] = [];
let heard: string[] = [];
let isTroubled = false;
let watch: PrimaryWatch<string, string>;

/** Lets promises go on. */
async function settle(): Promise<void> {
  await vi.advanceTimersByTimeAsync(0);
}

function ask(sentinel: string): Promise<string> {
  return new Promise((resolve, reject) => {
    questions.push({
      sentinel,
      atMs: Number(vi.getMockedSystemTime()),
      answer: (text) => {
        resolve(text);
        return settle();
      },
      fail: (text) => {
        reject(new Error(text));
        return settle();
      },
    });
  });
}

/** Sentinels and moments of all questions so far. */
function asked(): string[] {
  return questions.map(({ sentinel, atMs }) => `${sentinel}@${atMs}`);
}

beforeEach(() => {
  vi.useFakeTimers({ now: 0 });
  questions = [];
  heard = [];
  isTroubled = false;
  watch = new PrimaryWatch<string, string>(
    {
      ask,
      answered: (answer) => heard.push(answer),
      failed: (error) => heard.push(`failed: ${error instanceof Error ? error.message : "?"}`),
      isTroubled: () => isTroubled,
      startBackoff: createBackoff({ initialMs: 1000, maxMs: 4000, factor: 1, jitter: false, random: () => 0 }),
      random: () => 0,
    },
    ["a", "b", "c"],
  );
});
afterEach(() => {
  watch.close();
  vi.useRealTimers();
});

describe("PrimaryWatch", () => {
  it("start() asks the first sentinel, and again after five seconds when all is well", async () => {
    watch.start();
    await questions[0]?.answer("here");
    expect(heard).toEqual(["here"]);
    await vi.advanceTimersByTimeAsync(4999);
    expect(asked()).toEqual(["a@0"]);
    await vi.advanceTimersByTimeAsync(1);
    expect(asked()).toEqual(["a@0", "a@5000"]);
  });

  it("start() asks the next sentinel at once when one fails, and backs off when all have", async () => {
    watch.start();
    await questions[0]?.fail("x");
    await questions[1]?.fail("y");
    await questions[2]?.fail("z");
    expect(heard).toEqual(["failed: x"]);
    expect(asked()).toEqual(["a@0", "b@0", "c@0"]);
    await vi.advanceTimersByTimeAsync(1000);
    for (const question of questions.slice(3)) await question.fail("x");
    await questions[4]?.fail("y");
    await questions[5]?.fail("z");
    await vi.advanceTimersByTimeAsync(2000);
    expect(asked().slice(3)).toEqual(["a@1000", "b@1000", "c@1000", "a@3000"]);
  });

  it("start() asks the next sentinel as well when one is silent, and takes the first answer", async () => {
    watch.start();
    await vi.advanceTimersByTimeAsync(200);
    expect(asked()).toEqual(["a@0", "b@200"]);
    await questions[1]?.answer("from b");
    await questions[0]?.answer("from a, late");
    expect(heard).toEqual(["from b"]);
    await vi.advanceTimersByTimeAsync(1000);
    expect(asked()).toEqual(["a@0", "b@200"]);
  });

  it("soon() asks the sentinel that brought the news, once, after a moment", async () => {
    watch.start();
    await questions[0]?.answer("here");
    watch.soon("c");
    watch.soon();
    await vi.advanceTimersByTimeAsync(20);
    expect(asked()).toEqual(["a@0", "c@20"]);
    await questions[1]?.answer("there");
    await vi.advanceTimersByTimeAsync(4999);
    expect(heard).toEqual(["here", "there"]);
    expect(asked()).toEqual(["a@0", "c@20"]);
  });

  it("soon() asks again after the answer when a question is under way", async () => {
    watch.start();
    await questions[0]?.answer("here");
    await vi.advanceTimersByTimeAsync(5000);
    watch.soon();
    await questions[1]?.answer("perhaps too old");
    await vi.advanceTimersByTimeAsync(20);
    expect(asked()).toEqual(["a@0", "a@5000", "a@5020"]);
  });

  it("start() asks one sentinel after the other every quarter of a second while the primary is away", async () => {
    isTroubled = true;
    watch.start();
    await questions[0]?.answer("here");
    await vi.advanceTimersByTimeAsync(250);
    await questions[1]?.answer("here");
    await vi.advanceTimersByTimeAsync(250);
    await questions[2]?.answer("here");
    await vi.advanceTimersByTimeAsync(250);
    expect(asked()).toEqual(["a@0", "b@250", "c@500", "a@750"]);
  });

  it("close() asks no more and hears no answer", async () => {
    watch.start();
    watch.close();
    await questions[0]?.answer("late");
    await vi.advanceTimersByTimeAsync(60_000);
    expect(heard).toEqual([]);
    expect(asked()).toEqual(["a@0"]);
  });
});
