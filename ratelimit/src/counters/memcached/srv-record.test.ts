// SRV names, the order of their answers, and lookups that fail.
import { describe, expect, it } from "vitest";
import { findSrvProblem, lookUpNodes, nodesOfAnswers } from "./srv-record.ts";

describe("findSrvProblem()", () => {
  it.each(["_something._tcp.example.org.", "_memcache._tcp.mc.prod.svc.cluster.local"])(
    "case 140: findSrvProblem() accepts %s",
    (record) => {
      expect(findSrvProblem(record)).toBeUndefined();
    },
  );

  it.each([
    { record: "example.org", problem: "could not parse example.org to SRV parts" },
    { record: "_memcache.example.org", problem: "could not parse _memcache.example.org to SRV parts" },
    { record: "", problem: "could not parse  to SRV parts" },
  ])("case 140: findSrvProblem() says '$problem'", ({ record, problem }) => {
    expect(findSrvProblem(record)).toBe(problem);
  });
});

describe("nodesOfAnswers()", () => {
  it("case 139: nodesOfAnswers() sorts as text", () => {
    const answers = [
      { name: "z", port: 1 },
      { name: "z", port: 0 },
      { name: "a", port: 9001 },
    ];
    expect(nodesOfAnswers(answers)).toEqual(["a:9001", "z:0", "z:1"]);
  });

  it("nodesOfAnswers() sorts ports as text and names as if they ended in a dot", () => {
    const answers = [
      { name: "mc1", port: 1 },
      { name: "mc.a", port: 1 },
      { name: "mc.", port: 9 },
      { name: "mc", port: 10 },
    ];
    expect(nodesOfAnswers(answers)).toEqual(["mc:10", "mc:9", "mc.a:1", "mc1:1"]);
  });
});

describe("lookUpNodes()", () => {
  it("lookUpNodes() asks for the whole name", async () => {
    const asked: string[] = [];
    const resolve = (record: string) => {
      asked.push(record);
      return Promise.resolve([{ name: "a", port: 1 }]);
    };
    expect(await lookUpNodes("_memcache._tcp.example.org", resolve)).toEqual(["a:1"]);
    expect(asked).toEqual(["_memcache._tcp.example.org"]);
  });

  it.each([
    { how: "fails", resolve: () => Promise.reject(new Error("querySrv ENOTFOUND")), reason: "querySrv ENOTFOUND" },
    { how: "finds nothing", resolve: () => Promise.resolve([]), reason: "the record has no answers" },
  ])("case 138: lookUpNodes() fails when the lookup $how", async ({ resolve, reason }) => {
    await expect(lookUpNodes("_a._tcp.b", resolve)).rejects.toMatchObject({
      code: "STORE_UNAVAILABLE",
      message: "Unable to fetch servers from SRV _a._tcp.b",
      cause: { message: reason },
    });
  });
});
