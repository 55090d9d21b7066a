// Tests of problem-log.ts: which lines the problems of several reflectors make.
import { createLog } from "@weir/common/log/log";
import { beforeEach, describe, expect, it } from "vitest";

import { ApiFailure } from "../client/api-failure.ts";
import { ProblemLog } from "./problem-log.ts";

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
    problems = new ProblemLog(createLog({ level: "info", format: "json", write }), () => isServing);
  });

  function failed(namespace: string, reason: string): void {
    const resource = { group: "", version: "v1", plural: "secrets", namespace, labelSelector: undefined };
    problems.failed(namespace, new ApiFailure("unreachable", { verb: "list", resource }, reason));
  }

  it("failed() logs a shared problem once, and following() once that it is over for the last reflector", () => {
    for (const namespace of ["a", "b", "c", "a", "b", "c"]) failed(namespace, "no answer");
    for (const namespace of ["a", "b"]) problems.following(namespace);
    expect(lines).toEqual(["Cannot follow the API server, what was read before stays active: a"]);
    problems.following("c");
    problems.following("c");
    expect(lines.slice(1)).toEqual(["Following the API server again: c"]);
  });

  it("failed() logs another problem of the same reflector, and the same problem when it comes back", () => {
    failed("a", "no answer");
    failed("a", "no right");
    problems.following("a");
    failed("a", "no right");
    expect(lines.map((line) => line.slice(0, 6))).toEqual(["Cannot", "Cannot", "Follow", "Cannot"]);
  });

  it("failed() logs whether anything stays active", () => {
    isServing = false;
    failed("a", "no answer");
    expect(lines).toEqual(["Cannot follow the API server, nothing is served yet: a"]);
  });

  it("following() logs nothing about a reflector without a problem", () => {
    failed("a", "no answer");
    problems.following("b");
    expect(lines.length).toBe(1);
  });
});
