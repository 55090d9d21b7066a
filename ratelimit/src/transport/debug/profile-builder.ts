// Collects stacks of functions with values, for `go tool pprof`. cpu-profile.ts and heap-profile.ts
// know what the values mean.
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

import { Function as ProfileFunction, Location, Profile, Sample, StringTable, ValueType } from "pprof-format";

/** The program that the functions belong to, as tools name it, and the one mapping that says so. */
const PROGRAM = "weir-ratelimit";
const MAPPING_ID = 1;

/** A function, as V8 describes it. Lines count from 0; -1 is none. */
export interface CallFrame {
  readonly functionName: string;
  readonly url: string;
  readonly lineNumber: number;
}

/** A kind of value, such as cpu in nanoseconds. */
type ValueKind = readonly [type: string, unit: string];

/** The facts of a profile as a whole. */
export interface ProfileFacts {
  /** The values of every sample, in this order; tools show the second one first. */
  readonly kinds: readonly [ValueKind, ValueKind];
  /** How much of the second kind lies between two samples. */
  readonly period: number;
  readonly takenAtMs: number;
  readonly durationMs: number;
}

/** Refers to a place in a stack. */
export type LocationId = number;

/** Collects stacks with their values. */
export class ProfileBuilder {
  readonly #profile: Profile;
  readonly #functionIds = new Map<string, number>();
  readonly #locationIds = new Map<string, LocationId>();

  constructor({ kinds, period, takenAtMs, durationMs }: ProfileFacts) {
    const texts = new StringTable();
    const [count, main] = kinds.map(
      ([type, unit]) => new ValueType({ type: texts.dedup(type), unit: texts.dedup(unit) }),
    ) as [ValueType, ValueType];
    const filename = texts.dedup(PROGRAM);
    this.#profile = new Profile({
      sampleType: [count, main],
      periodType: main,
      defaultSampleType: main.type,
      mapping: [{ id: MAPPING_ID, filename, hasFunctions: true, hasFilenames: true, hasLineNumbers: true }],
      timeNanos: nanoseconds(takenAtMs),
      durationNanos: nanoseconds(durationMs),
      period,
      stringTable: texts,
    });
  }

  /** The place of a function in stacks; `line` counts from 1, by default the function's first. */
  location(frame: CallFrame, line: number = frame.lineNumber + 1): LocationId {
    const functionId = this.#functionId(frame);
    return idOf(this.#locationIds, `${functionId}:${line}`, (id) =>
      this.#profile.location.push(new Location({ id, mappingId: MAPPING_ID, line: [{ functionId, line }] })),
    );
  }

  /**
   * Adds values to a stack, whose innermost place comes first. Values are whole numbers, one for
   * each kind.
   */
  add(stack: readonly LocationId[], values: readonly [number, number]): void {
    this.#profile.sample.push(new Sample({ locationId: [...stack], value: [...values] }));
  }

  /** The profile as a file: gzipped protobuf. */
  build(): Buffer {
    return gzipSync(this.#profile.encode());
  }

  #functionId({ functionName, url, lineNumber }: CallFrame): number {
    return idOf(this.#functionIds, `${url}\n${lineNumber}\n${functionName}`, (id) => {
      const texts = this.#profile.stringTable;
      const name = texts.dedup(functionName === "" ? "(anonymous)" : functionName);
      const filename = texts.dedup(url.startsWith("file://") ? fileURLToPath(url) : url);
      this.#profile.function.push(
        new ProfileFunction({ id, name, systemName: name, filename, startLine: lineNumber + 1 }),
      );
    });
  }
}

/** The identifier of a key; a new key gets the next one, from 1, and is handed to `add`. */
function idOf(ids: Map<string, number>, key: string, add: (id: number) => void): number {
  return ids.getOrInsertComputed(key, () => {
    const id = ids.size + 1;
    add(id);
    return id;
  });
}

function nanoseconds(ms: number): bigint {
  return BigInt(Math.round(ms * 1e6));
}
