// Which sentinels are asked, and in which order.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { PrimaryLookup } from "./primary-lookup.ts";

/** A question to a sentinel that the test answers. */
interface Question {
  readonly sentinel: string;
  readonly atMs: number;
  /** Aborted when the answer is not needed any more. */
  readonly signal: AbortSignal;
  answer(text: string): Promise<void>;
  fail(text: string): Promise<void>;
}

let questions: Question[];
let answers: string[];
let lookup: PrimaryLookup<string, string>;

/** Lets pending promises settle. */
async function settle(): Promise<void> {
  await vi.advanceTimersByTimeAsync(0);
}

function ask(sentinel: string, signal: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    questions.push({
      sentinel,
      atMs: Number(vi.getMockedSystemTime()),
      signal,
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

/** Begins a lookup and notes its result. */
function begin(): void {
  lookup.ask().then(
    (answer) => answers.push(answer),
    (error: unknown) => answers.push(`failed: ${error instanceof Error ? error.message : "?"}`),
  );
}

/** Sentinels and moments of all questions so far. */
function asked(): string[] {
  return questions.map(({ sentinel, atMs }) => `${sentinel}@${atMs}`);
}

beforeEach(() => {
  vi.useFakeTimers({ now: 0 });
  questions = [];
  answers = [];
  lookup = new PrimaryLookup(["a", "b", "c"], ask);
});
afterEach(() => {
  vi.useRealTimers();
});

describe("PrimaryLookup", () => {
  it("ask() asks the first sentinel, and no other when it answers", async () => {
    begin();
    await questions[0]?.answer("here");
    await vi.advanceTimersByTimeAsync(60_000);
    expect(answers).toEqual(["here"]);
    expect(asked()).toEqual(["a@0"]);
  });

  it("ask() asks the next sentinel immediately when one fails, and fails with the first error when all have", async () => {
    begin();
    await questions[0]?.fail("x");
    await questions[1]?.fail("y");
    await questions[2]?.fail("z");
    expect(answers).toEqual(["failed: x"]);
    expect(asked()).toEqual(["a@0", "b@0", "c@0"]);
  });

  it("ask() asks the next sentinel as well when one is silent, takes the first answer, and ends the other question", async () => {
    begin();
    await vi.advanceTimersByTimeAsync(200);
    expect(asked()).toEqual(["a@0", "b@200"]);
    await questions[1]?.answer("from b");
    expect(questions[0]?.signal.aborted).toBe(true);
    await questions[0]?.answer("from a, late");
    await vi.advanceTimersByTimeAsync(1000);
    expect(answers).toEqual(["from b"]);
    expect(asked()).toEqual(["a@0", "b@200"]);
  });

  it("prefer() makes a sentinel the first, and advance() the one after it", async () => {
    lookup.prefer("c");
    begin();
    await questions[0]?.answer("there");
    lookup.advance();
    begin();
    expect(asked()).toEqual(["c@0", "a@0"]);
  });
});
