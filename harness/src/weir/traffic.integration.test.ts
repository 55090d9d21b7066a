import { describe, expect, it } from "vitest";
import { type Decision, type Lane, Traffic } from "./traffic.ts";

/** A lane that receives these answers, and then the last one again and again. */
function laneOf(answers: readonly (Decision | Error)[], right?: Decision["code"]): Lane {
  let asked = 0;
  const ask = (): Promise<Decision> => {
    const answer = answers[Math.min(asked++, answers.length - 1)]!;
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
  };
  return { ask, right };
}

const PACE = { periodMs: 1, waitingMax: 1 };
const ALLOWED: Decision = { code: "allowed", limit: 2 };
const LIMITED: Decision = { code: "limited", limit: 3 };

describe("Traffic", () => {
  it.each([
    { answers: [ALLOWED], right: "allowed", losses: { failed: 0, wronglyAllowed: 0, wronglyDenied: 0 } },
    { answers: [LIMITED, ALLOWED], right: undefined, losses: { failed: 0, wronglyAllowed: 0, wronglyDenied: 0 } },
    { answers: [LIMITED, LIMITED, ALLOWED], right: "allowed", losses: { wronglyAllowed: 0, wronglyDenied: 2 } },
    { answers: [ALLOWED, LIMITED], right: "limited", losses: { wronglyAllowed: 1, wronglyDenied: 0 } },
    { answers: [new Error("away"), ALLOWED], right: "allowed", losses: { failed: 1, wronglyAllowed: 0 } },
  ] as const)("counts $losses for the answers $answers when $right is right", async ({ answers, right, losses }) => {
    const traffic = new Traffic([laneOf(answers, right)], PACE);
    await traffic.answers(answers.length);
    const failures = await traffic.stop();
    expect(traffic.take()).toMatchObject(losses);
    expect(failures).toEqual("failed" in losses && losses.failed > 0 ? { "Error: away": 1 } : {});
    expect(traffic.take()).toMatchObject({ requests: 0, wronglyAllowed: 0, wronglyDenied: 0, longestGapMs: 0 });
  });

  it("returns the limits in the answers without repetitions, and why there was none", async () => {
    const none: Decision = { code: "allowed" };
    const traffic = new Traffic([laneOf([ALLOWED, ALLOWED, LIMITED, new Error("away"), none])], PACE);
    await traffic.answers(5);
    expect(await traffic.end()).toBe("2 → 3 → Error: away → none");
  });

  it("asks once more after the call of stop()", async () => {
    const seen: string[] = [];
    const ask = async (): Promise<Decision> => {
      seen.push("asked");
      return ALLOWED;
    };
    const traffic = new Traffic([{ ask }], PACE);
    await traffic.answers(1);
    const stopping = traffic.stop();
    seen.splice(0);
    await stopping;
    expect(seen).toEqual(["asked"]);
  });

  it("measures the longest time without a right answer", async () => {
    const traffic = new Traffic([laneOf([LIMITED], "allowed")], PACE);
    await traffic.answers(20);
    await traffic.stop();
    expect(traffic.take().longestGapMs).toBeGreaterThanOrEqual(15);
  });
});
