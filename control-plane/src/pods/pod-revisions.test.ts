// Tests of pod-revisions.ts: what the pod of one stream is sent after its answers.
import { beforeEach, describe, expect, it } from "vitest";

import type { Revision } from "../snapshot/revision.ts";
import { RevisionHistory } from "../snapshot/revision-history.ts";
import { contentsOf, revisionOf, type RevisionText } from "../snapshot/revisions.suite.ts";
import { Snapshot } from "../snapshot/snapshot.ts";
import { PodRevisions, type SentRevisions } from "./pod-revisions.ts";

describe("PodRevisions", () => {
  let nowMs: number;
  let history: RevisionHistory;
  let published: Snapshot;
  let revisions: PodRevisions;
  let acked: SentRevisions | undefined;
  let sent: SentRevisions;

  function publish(...texts: readonly RevisionText[]): void {
    publishRevisions(texts.map(revisionOf));
  }

  function publishRevisions(list: readonly Revision[], lastGood: readonly Revision[] = []): void {
    const isLoaded = ({ name, digest }: Revision): boolean => acked?.snapshot.get(name)?.digest === digest;
    const lastGoodOf = (name: string) => lastGood.filter((revision) => revision.name === name);
    history.update(list, { lastGoodOf, isLoaded });
    published = new Snapshot(list.toSorted((left, right) => (left.name < right.name ? -1 : 1)));
  }

  /** The contents that the pod is sent. */
  function choice(): readonly string[] {
    sent = { snapshot: revisions.choose(published, acked), names: undefined };
    return contentsOf(sent.snapshot.revisions);
  }

  function ack(): void {
    choice();
    acked = sent;
    revisions.ack();
  }

  function nack(message: string): readonly string[] {
    choice();
    revisions.nack(sent, message);
    return choice();
  }

  function open(snapshotMaxBytes = 1000): void {
    acked = undefined;
    revisions = new PodRevisions({
      revisionsOf: (name) => history.revisionsOf(name),
      snapshotMaxBytes,
      clock: () => nowMs,
    });
  }

  beforeEach(() => {
    nowMs = 1000;
    history = new RevisionHistory();
    open();
  });

  it("sends the published snapshot itself to a pod without NACKs", () => {
    publish({ name: "a" }, { name: "b" });
    expect(revisions.choose(published, undefined)).toBe(published);
  });

  it("case A9: sends the revision that was published before to a pod that NACKs the present one, whichever pod loaded it", () => {
    publish({ name: "a" }, { name: "b" });
    publish({ name: "a", content: 2 }, { name: "b" });
    expect(nack("default/a: unknown field")).toEqual(["default/a=1", "default/b=1"]);
  });

  it("leaves a resource out when the pod has NACKed every revision of it", () => {
    publish({ name: "a" }, { name: "b" });
    publish({ name: "a", content: 2 }, { name: "b" });
    nack("default/a: no");
    expect(nack("default/a: no")).toEqual(["default/b=1"]);
  });

  it("sends no earlier revision that limits to a pod that NACKs one in shadow mode, only one that is in it too", () => {
    publish({ name: "a" }, { name: "b" });
    ack();
    publish({ name: "a", content: 2, shadowMode: true }, { name: "b" });
    expect(nack("default/a: no")).toEqual(["default/b=1"]);
    const present = [{ name: "a", content: 3, shadowMode: true }, { name: "b" }].map(revisionOf);
    publishRevisions(present, [revisionOf({ name: "a", content: "good", shadowMode: true, sequence: 0 })]);
    expect(nack("default/a: no")).toEqual(["default/a=good", "default/b=1"]);
  });

  it("sends the revision of the response that the pod ACKed last, if that is newer than other kept ones", () => {
    publish({ name: "a", content: 1 });
    publish({ name: "a", content: 2 });
    ack();
    publish({ name: "a", content: 3 });
    publish({ name: "a", content: 4 });
    expect([nack("default/a: no"), nack("default/a: no"), nack("default/a: no")]).toEqual([
      ["default/a=3"],
      ["default/a=2"],
      [],
    ]);
  });

  it("sends the revision that the source handed over when the present one is NACKed after a start", () => {
    publishRevisions([revisionOf({ name: "a", content: 2 })], [revisionOf({ name: "a", content: 1, sequence: 0 })]);
    expect(nack("default/a: no")).toEqual(["default/a=1"]);
  });

  it("sends an edit to a pod that NACKed the revision before, and nothing of a resource created anew", () => {
    publish({ name: "a" });
    publish({ name: "a", content: 2 });
    nack("default/a: no");
    publish({ name: "a", content: 3 });
    expect(choice()).toEqual(["default/a=3"]);
    publish({ name: "a", content: 4, identity: "two" });
    expect(nack("default/a: no")).toEqual([]);
  });

  it("sends a NACKed revision again after the pod has what was published in the meantime", () => {
    publish({ name: "a", content: 1 });
    ack();
    publish({ name: "a", content: 2 });
    expect(nack("default/a: no")).toEqual(["default/a=1"]);
    publish({ name: "a", content: 1 });
    expect(choice()).toEqual(["default/a=1"]);
    // Otherwise the pod would neither be sent the revision nor answer it: its NACK would be unknown.
    publish({ name: "a", content: 2 });
    expect(choice()).toEqual(["default/a=2"]);
    expect(nack("default/a: no")).toEqual(["default/a=1"]);
  });

  it("offers a revision again when no kept revision had its content in the meantime", () => {
    publish({ name: "a", content: 1 });
    nack("default/a: no");
    publish({ name: "a", content: 2 });
    publish({ name: "a", content: 3 });
    expect(choice()).toEqual(["default/a=3"]);
    expect(revisions.nacks.size).toBe(0);
    publish({ name: "a", content: 1 });
    expect(choice()).toEqual(["default/a=1"]);
  });

  it("does not offer a revision again while it is kept, when the resource is edited away and back", () => {
    publish({ name: "a", content: 1 });
    nack("default/a: no");
    publish({ name: "a", content: 2 });
    ack();
    publish({ name: "a", content: 1 });
    expect(choice()).toEqual(["default/a=2"]);
  });

  it.each([
    { text: "something is wrong" },
    { text: "default/c: not in the response" },
    { text: "" },
    { text: ": no" },
    { text: "default/a is wrong" },
  ])("case A10: marks nothing at the NACK $text", ({ text }) => {
    publish({ name: "a" }, { name: "b" });
    expect(nack(text)).toEqual(["default/a=1", "default/b=1"]);
    expect(revisions.nacks.size).toBe(0);
  });

  it("marks nothing when the NACK names a resource that the pod was not sent", () => {
    publish({ name: "a" }, { name: "b" });
    revisions.nack({ snapshot: published, names: new Set(["default/b"]) }, "default/a: no");
    expect(revisions.nacks.size).toBe(0);
  });

  it("shares one snapshot among pods with one choice, with the version of its content", () => {
    publish({ name: "a" }, { name: "b" });
    publish({ name: "a", content: 2 }, { name: "b" });
    nack("default/a: no");
    const first = sent.snapshot;
    open();
    nack("default/a: no");
    expect(sent.snapshot).toBe(first);
    expect(first.version).toBe(new Snapshot([revisionOf({ name: "a" }), revisionOf({ name: "b" })]).version);
  });

  it("leaves out earlier revisions, of the youngest resource first, when they make the snapshot too large", () => {
    open(700);
    publish({ name: "old", sizeBytes: 200, createdMs: 1 }, { name: "young", sizeBytes: 200, createdMs: 2 });
    publish(
      { name: "old", content: 2, sizeBytes: 10, createdMs: 1 },
      { name: "young", content: 2, sizeBytes: 10, createdMs: 2 },
      { name: "other", sizeBytes: 200 },
    );
    nack("default/old: no");
    nack("default/young: no");
    expect(sent.snapshot.revisions.map(({ name }) => name)).toEqual(["default/old", "default/other"]);
    expect(sent.snapshot.earlierRevisions.get("default/young")).toBeUndefined();
  });

  describe("after eight NACKs in one namespace without an ACK", () => {
    const TEAM = Array.from({ length: 12 }, (_, index) => ({ name: `team/r${String(index).padStart(2, "0")}` }));

    beforeEach(() => {
      publish(...TEAM, { name: "other/a" });
      for (const { name } of TEAM.slice(0, 8)) nack(`${name}: no`);
    });

    it("sends everything else", () => {
      expect(choice()).toEqual(["other/a=1"]);
    });

    it("sends an edit elsewhere meanwhile", () => {
      ack();
      publish(...TEAM, { name: "other/a", content: 2 });
      expect(choice()).toEqual(["other/a=2"]);
    });

    it("adds one resource per second and ACK, and then sends what is published as it comes", () => {
      ack();
      expect(revisions.nextTrialMs).toBe(2000);
      const seen: (readonly string[])[] = [];
      for (let second = 0; second < 4; second += 1) {
        nowMs += 1000;
        ack();
        seen.push(contentsOf(acked?.snapshot.revisions ?? []));
        ack();
        expect(contentsOf(acked?.snapshot.revisions ?? []), "not before the second is over").toEqual(seen.at(-1));
      }
      expect(seen.map((contents) => contents.length)).toEqual([2, 3, 4, 5]);
      nowMs += 1000;
      expect(choice()).toEqual(seen.at(-1));
      expect(revisions.nextTrialMs).toBeUndefined();
      publish(
        ...TEAM.slice(0, 10),
        { name: "team/r10", content: 2 },
        { name: "team/r11", content: 2 },
        { name: "other/a" },
      );
      expect(choice()).toEqual(["other/a=1", "team/r08=1", "team/r09=1", "team/r10=2", "team/r11=2"]);
    });

    it("sends the same response while the revision that is tried is not answered, and the next revision after a NACK", () => {
      ack();
      nowMs += 1000;
      expect(choice()).toEqual(["other/a=1", "team/r08=1"]);
      nowMs += 5000;
      expect(choice()).toEqual(["other/a=1", "team/r08=1"]);
      expect(nack("team/r08: no")).toEqual(["other/a=1", "team/r09=1"]);
      expect(nack("team/r09: no")).toEqual(["other/a=1"]);
    });

    it("tries the next revision a second later even when the clock is set back", () => {
      ack();
      nowMs -= 3_600_000;
      choice();
      expect(revisions.nextTrialMs).toBe(nowMs + 1000);
    });

    it("tries revisions of each namespace in turn, however often one is edited", () => {
      const slow = TEAM.map(({ name }) => ({ name: name.replace("team", "victim") }));
      const edit = (content: number): void => publish(...slow, ...TEAM.map((revision) => ({ ...revision, content })));
      edit(0);
      for (const { name } of slow.slice(0, 8)) nack(`${name}: no`);
      const sentOfVictim = [1, 2, 3, 4].map((content) => {
        edit(content);
        nowMs += 1000;
        const isSent = choice().includes("victim/r08=1");
        nack("team/r00: no");
        return isSent;
      });
      expect(sentOfVictim).toContain(true);
    });

    it("keeps what the pod ACKed of the namespace before", () => {
      open();
      publish(...TEAM);
      ack();
      publish(...TEAM.map(({ name }) => ({ name, content: 2 })));
      for (const { name } of TEAM.slice(0, 8)) nack(`${name}: no`);
      expect(choice()).toEqual(TEAM.map(({ name }) => `${name}=1`));
    });
  });

  it("counts NACKs anew after an ACK", () => {
    const names = Array.from({ length: 12 }, (_, index) => `team/r${String(index).padStart(2, "0")}`);
    publish(...names.map((name) => ({ name })));
    for (const name of names.slice(0, 7)) nack(`${name}: no`);
    ack();
    for (const name of names.slice(7, 10)) nack(`${name}: no`);
    expect(choice()).toEqual(["team/r10=1", "team/r11=1"]);
  });
});
