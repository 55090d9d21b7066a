// Tests of quarantine-log.ts: which lines the NACKs of pods lead to, however many pods there are.
import { createLog } from "@weir/common/log/log";
import { beforeEach, describe, expect, it, vi } from "vitest";

import type { ResourceNack } from "../pods/pod-revisions.ts";
import { PodRegistry, type PodReport } from "../pods/pod-registry.ts";
import type { Revision } from "../snapshot/revision.ts";
import { revisionOf } from "../snapshot/revisions.suite.ts";
import { Snapshot } from "../snapshot/snapshot.ts";
import { QuarantineLog } from "./quarantine-log.ts";

const [OLD, OLDER] = [revisionOf({ name: "a", content: "old" }), revisionOf({ name: "a", content: "older" })];
const PUBLISHED = new Snapshot([revisionOf({ name: "a" }), revisionOf({ name: "b" })]);

const EARLIER_SENT = "Quarantined a resource that pods NACK, an earlier revision is sent";
const LEFT_OUT = "Quarantined a resource that pods NACK, it is left out";
const ENDED = "Ended the quarantine of a resource";

describe("QuarantineLog", () => {
  let pods: PodRegistry;
  let lines: Record<string, unknown>[];
  let log: QuarantineLog;

  function connect(fleet = "edge"): PodReport {
    return pods.connected({ nodeId: `${fleet}/1`, fleet, namespace: "", pod: "", peer: "192.0.2.1:1" });
  }

  /** The pod NACKs a resource by name, and should have something else instead. */
  function nack(pod: PodReport, instead: Revision | undefined, name = "default/a"): void {
    const message = `${name}: no`;
    const nacks = new Map<string, ResourceNack>([[name, { digests: new Set(), sinceMs: 0, message }]]);
    pod.rejected(PUBLISHED.version, message, nacks);
    pod.chosen(PUBLISHED.withEarlier(new Map([[name, instead]])), nacks);
  }

  /** The pod should have everything. */
  function heal(pod: PodReport): void {
    pod.chosen(PUBLISHED, new Map());
  }

  /** Level, words and fields of the lines since the last call. */
  function logged(): readonly unknown[] {
    return lines
      .splice(0)
      .map((line) => [line["level"], line["@message"], line["fleet"], line["resource"], line["text"]]);
  }

  beforeEach(() => {
    pods = new PodRegistry({ clock: () => 0 });
    lines = [];
    const write = (line: string): unknown => lines.push(JSON.parse(line) as Record<string, unknown>);
    log = new QuarantineLog({ log: createLog({ level: "info", format: "json", write }), pods });
    log.start();
  });

  it("logs once what is sent instead, with the text of the NACK, however many pods, and once the end of the last", () => {
    const [first, second] = [connect(), connect()];
    for (const pod of [first, second]) nack(pod, OLD);
    expect(logged()).toEqual([["error", EARLIER_SENT, "edge", "default/a", "default/a: no"]]);
    heal(first);
    expect(logged()).toEqual([]);
    heal(second);
    expect(logged()).toEqual([["info", ENDED, "edge", "default/a", undefined]]);
    nack(first, OLD);
    expect(logged()).toHaveLength(1);
  });

  it("looks at the earlier revisions of a choice once, however many pods share it and whatever they answer", () => {
    const choice = PUBLISHED.withEarlier(new Map([["default/a", OLD]]));
    const looks = [vi.spyOn(choice.earlierRevisions, Symbol.iterator), vi.spyOn(choice.earlierRevisions, "entries")];
    for (let pod = 0; pod < 3; pod += 1) {
      const report = connect();
      report.rejected(PUBLISHED.version, "default/a: no", new Map());
      report.chosen(choice, new Map());
      report.sent(choice.version);
      report.accepted({ snapshot: choice, names: undefined });
    }
    expect(logged()).toHaveLength(1);
    expect(looks.reduce((sum, { mock }) => sum + mock.calls.length, 0)).toBe(1);
  });

  it("logs each fleet and each resource by itself", () => {
    const gold = connect("gold");
    nack(connect(), OLD);
    nack(gold, OLD);
    nack(gold, undefined, "default/b");
    expect(logged()).toEqual([
      ["error", EARLIER_SENT, "edge", "default/a", "default/a: no"],
      ["error", EARLIER_SENT, "gold", "default/a", "default/a: no"],
      ["error", LEFT_OUT, "gold", "default/b", "default/b: no"],
      ["info", ENDED, "gold", "default/a", undefined],
    ]);
  });

  it("logs that a resource is left out when no earlier revision is good either, and no end then", () => {
    const pod = connect();
    nack(pod, OLD);
    nack(pod, OLDER);
    expect(logged()).toHaveLength(1);
    nack(pod, undefined);
    expect(logged()).toEqual([["error", LEFT_OUT, "edge", "default/a", "default/a: no"]]);
    const other = connect();
    nack(other, OLD);
    expect(logged()).toEqual([["error", EARLIER_SENT, "edge", "default/a", "default/a: no"]]);
    heal(pod);
    expect(logged()).toEqual([]);
    heal(other);
    expect(logged()).toEqual([["info", ENDED, "edge", "default/a", undefined]]);
  });

  it("logs the end when the last pod leaves", () => {
    const pod = connect();
    nack(pod, undefined);
    logged();
    pod.left();
    expect(logged()).toEqual([["info", ENDED, "edge", "default/a", undefined]]);
  });

  it("logs nothing of pods that NACK nothing, and of NACKs without the name of a resource", () => {
    const pod = connect();
    pod.sent(PUBLISHED.version);
    heal(pod);
    pod.rejected(PUBLISHED.version, "out of memory", new Map());
    pod.left();
    expect(logged()).toEqual([]);
  });

  it("logs nothing once it has stopped", () => {
    const pod = connect();
    log.stop();
    nack(pod, OLD);
    expect(logged()).toEqual([]);
  });
});
