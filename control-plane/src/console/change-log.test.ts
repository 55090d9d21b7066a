// Tests of change-log.ts.
import { describe, expect, it } from "vitest";

import type { PublisherState } from "../snapshot/publisher.ts";
import { revisionOf } from "../snapshot/revisions.suite.ts";
import { ChangeLog } from "./change-log.ts";

/** A publisher of these resources, by content. */
class FakePublisher {
  #contents: Readonly<Record<string, number>>;
  isHeld = false;
  #published: () => void = () => undefined;

  constructor(contents: Readonly<Record<string, number>>) {
    this.#contents = contents;
  }

  onPublished(listener: () => void): () => void {
    this.#published = listener;
    return () => undefined;
  }

  publish(contents: Readonly<Record<string, number>>): void {
    this.#contents = contents;
    this.#published();
  }

  state(): PublisherState {
    const revisions = Object.entries(this.#contents).map(([name, content]) => revisionOf({ name, content }));
    return {
      admission: { admitted: new Map(revisions.map((revision) => [revision.name, { revision, fleets: undefined }])) },
      publication: new Map([["*", { hold: this.isHeld ? { sinceMs: 0, untilMs: 1 } : undefined }]]),
    } as unknown as PublisherState;
  }
}

function startLog(contents: Readonly<Record<string, number>>) {
  const publisher = new FakePublisher(contents);
  const log = new ChangeLog({ publisher, clock: () => 7 });
  log.start();
  const changes = () => log.changes.map(({ kind, resource }) => `${kind} ${resource}`);
  return { publisher, log, changes };
}

describe("ChangeLog", () => {
  it("keeps the last hundred changes, the newest first", () => {
    const { publisher, changes } = startLog({ a: 1, b: 1 });
    expect(changes()).toEqual([]);
    publisher.publish({ a: 2, b: 1 });
    publisher.publish({ b: 1 });
    expect(changes()).toEqual(["removed default/a", "edited default/a"]);
    publisher.publish({ b: 1, ...Object.fromEntries(Array.from({ length: 99 }, (_, index) => [`c${index}`, 1])) });
    expect(changes()).toHaveLength(100);
    expect(changes().slice(-2)).toEqual(["added default/c98", "removed default/a"]);
  });

  it("does not take resources for removed whose removal is held back", () => {
    const { publisher, changes } = startLog({ a: 1 });
    publisher.isHeld = true;
    publisher.publish({});
    publisher.isHeld = false;
    publisher.publish({ a: 1 });
    expect(changes()).toEqual([]);
  });
});
