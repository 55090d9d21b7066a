// Tests of problem-log.ts: which lines the problems of several reflectors make.
import { createLog } from "@weir/common/log/log";
import { beforeEach, describe, expect, it } from "vitest";

import { ApiFailure } from "../client/api-failure.ts";
import { ProblemLog } from "./problem-log.ts";

interface Line {
  readonly "@message": string;
  readonly level: string;
  readonly resource?: string;
  readonly server?: string;
  readonly waitsFor?: string;
  readonly waitedMs?: number;
}

describe("ProblemLog", () => {
  const lines: string[] = [];
  const levels: string[] = [];
  const fields: object[] = [];
  let problems: ProblemLog;
  let isServing: boolean;

  beforeEach(() => {
    lines.length = levels.length = fields.length = 0;
    isServing = true;
    const write = (line: string): void => {
      const { "@message": message, level, resource, server, waitsFor, waitedMs } = JSON.parse(line) as Line;
      lines.push(`${message}: ${resource}`);
      levels.push(level);
      if (server !== undefined) fields.push({ server, waitsFor, waitedMs });
    };
    problems = new ProblemLog(createLog({ level: "info", format: "json", write }), () => isServing);
  });

  function failed(namespace: string, reason: string): void {
    const resource = { group: "", version: "v1", plural: "secrets", namespace, labelSelector: undefined };
    problems.failed(namespace, new ApiFailure("unreachable", { verb: "list", resource }, reason));
  }

  it("failed() logs a shared problem once, and following() once for each reflector that it is over", () => {
    for (const namespace of ["a", "b", "c", "a", "b", "c"]) failed(namespace, "no answer");
    expect(lines).toEqual(["Cannot follow the API server, what was read before stays active: a"]);
    for (const namespace of ["b", "c", "b"]) problems.following(namespace);
    expect(lines.slice(1)).toEqual(["Following the API server again: b", "Following the API server again: c"]);
  });

  it("failed() logs a problem that returns while another reflector has another problem, and not one that others still have", () => {
    for (const namespace of ["a", "b"]) failed(namespace, "no answer");
    failed("c", "no right");
    problems.following("a");
    failed("a", "no answer");
    expect(lines.length).toBe(3);
    for (const namespace of ["a", "b"]) problems.following(namespace);
    failed("b", "no answer");
    expect(lines.slice(3)).toEqual([
      "Following the API server again: a",
      "Following the API server again: b",
      "Cannot follow the API server, what was read before stays active: b",
    ]);
  });

  it("slow() logs the server and what it waits for once until the reflectors follow again", () => {
    const slow = { server: "https://10.0.0.1", waitsFor: "the list", waitedMs: 5000 };
    for (const namespace of ["a", "b", "a"]) problems.slow(namespace, slow);
    expect(lines).toEqual(["The API server does not answer, still waiting: undefined"]);
    expect(fields).toEqual([slow]);
    failed("a", "no answer");
    for (const namespace of ["a", "b", "b"]) problems.following(namespace);
    problems.slow("a", slow);
    expect(lines.slice(2)).toEqual([
      "Following the API server again: a",
      "Following the API server again: b",
      "The API server does not answer, still waiting: undefined",
    ]);
  });

  it("logs a problem and its end at the same level", () => {
    failed("a", "no answer");
    problems.following("a");
    expect(levels).toEqual(["warning", "warning"]);
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
