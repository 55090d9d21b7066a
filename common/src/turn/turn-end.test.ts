// Tests of the end of the event-loop turn.
import { describe, expect, it } from "vitest";
import { TurnEnd, type TurnTask } from "./turn-end.ts";

describe("TurnEnd", () => {
  it("runs what is for stores before answers, in the order of each", async () => {
    const turn = new TurnEnd(() => 0);
    const ran: string[] = [];
    turn.writeAnswers(task(() => ran.push("answer 1")));
    turn.writeToStore(task(() => ran.push("store 1")));
    turn.writeAnswers(task(() => ran.push("answer 2")));
    turn.writeToStore(task(() => ran.push("store 2")));
    expect(ran).toEqual([]);
    await endOfTurn();
    expect(ran).toEqual(["store 1", "store 2", "answer 1", "answer 2"]);
  });

  it("runs what tasks schedule in the same turn", async () => {
    const turn = new TurnEnd(() => 0);
    const ran: string[] = [];
    turn.writeToStore(
      task(() => {
        turn.writeAnswers(task(() => ran.push("failed call")));
        turn.writeToStore(task(() => ran.push("further command")));
      }),
    );
    await endOfTurn();
    expect(ran).toEqual(["further command", "failed call"]);
  });

  it("reads each clock once per turn", async () => {
    let readings = 0;
    const turn = new TurnEnd(
      () => ++readings,
      () => -readings,
    );
    expect([turn.nowMs(), turn.nowMs(), turn.monotonicMs()]).toEqual([1, 1, -1]);
    await endOfTurn();
    expect([turn.nowMs(), turn.nowMs(), turn.monotonicMs()]).toEqual([2, 2, -2]);
  });

  it("runs a task of a later turn", async () => {
    const turn = new TurnEnd(() => 0);
    let runs = 0;
    const counting = task(() => (runs += 1));
    turn.writeAnswers(counting);
    await endOfTurn();
    turn.writeAnswers(counting);
    await endOfTurn();
    expect(runs).toBe(2);
  });
});

function task(run: () => unknown): TurnTask {
  return { runAtTurnEnd: () => void run() };
}

/** Resolves after the tasks of this turn. */
function endOfTurn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}
