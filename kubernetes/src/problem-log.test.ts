// Tests of problem-log.ts: what the log is told of the problems of several reflectors.
import { createLog } from "@weir/common/log/log";
import { beforeEach, describe, expect, it } from "vitest";

import { ApiFailure } from "./api-failure.ts";
import { rateLimitConfigsIn } from "./api-resource.ts";
import { createProblemLog, type ProblemLog } from "./problem-log.ts";

describe("ProblemLog", () => {
  const lines: string[] = [];
  let problems: ProblemLog;
  let isServing: boolean;

  beforeEach(() => {
    lines.length = 0;
    isServing = true;
    const write = (line: string): void => {
      const { "@message": message, resource } = JSON.parse(line) as { "@message": string; resource: string };
      lines.push(`${message}: ${resource}`);
    };
    problems = createProblemLog({
      log: createLog({ level: "info", format: "json", write }),
      isServing: () => isServing,
    });
  });

  function failed(namespace: string, reason: string): void {
    problems.failed(
      namespace,
      new ApiFailure("unreachable", { verb: "list", resource: rateLimitConfigsIn(namespace) }, reason),
    );
  }

  it("failed() tells once what keeps many, and following() once that it is over for the last of them", () => {
    for (const namespace of ["a", "b", "c", "a", "b", "c"]) failed(namespace, "no answer");
    for (const namespace of ["a", "b"]) problems.following(namespace);
    expect(lines).toEqual(["Cannot follow the API server, what was read before stays in force: a"]);
    problems.following("c");
    problems.following("c");
    expect(lines.slice(1)).toEqual(["Following the API server again: c"]);
  });

  it("failed() tells of another problem of the same one, and of the same problem when it comes back", () => {
    failed("a", "no answer");
    failed("a", "no right");
    problems.following("a");
    failed("a", "no right");
    expect(lines.map((line) => line.slice(0, 6))).toEqual(["Cannot", "Cannot", "Follow", "Cannot"]);
  });

  it("failed() tells whether anything can stay in force", () => {
    isServing = false;
    failed("a", "no answer");
    expect(lines).toEqual(["Cannot follow the API server, nothing is served yet: a"]);
  });

  it("following() says nothing of one that had no problem", () => {
    failed("a", "no answer");
    problems.following("b");
    expect(lines.length).toBe(1);
  });
});
