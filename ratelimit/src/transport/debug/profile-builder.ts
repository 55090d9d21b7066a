// Puts together a profile in the form that `go tool pprof` reads: stacks of functions with values,
// and every text once. What the values mean is known to cpu-profile.ts and heap-profile.ts.
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { ProfileSchema } from "@weir/proto/generated/perftools/profiles/profile_pb";

/** The program that the functions belong to, as tools name it, and the one mapping that says so. */
const PROGRAM = "weir-ratelimit";
const MAPPING_ID = 1n;

/** What V8 tells of a function. Lines count from 0; -1 is none. */
export interface CallFrame {
  readonly functionName: string;
  readonly url: string;
  readonly lineNumber: number;
}

/** A kind of value, such as cpu in nanoseconds. */
export interface ValueKind {
  readonly type: string;
  readonly unit: string;
}

/** What is known of a profile as a whole. */
export interface ProfileFacts {
  /** The values of every sample, in this order; tools show the last one first. */
  readonly kinds: readonly [...ValueKind[], ValueKind];
  /** How much of the last kind lies between two samples. */
  readonly period: number;
  readonly takenAtMs: number;
  readonly durationMs: number;
}

/** A place in a stack. */
export type LocationId = bigint;

type Init<Field extends "sample" | "location" | "function"> = NonNullable<
  MessageInitShape<typeof ProfileSchema>[Field]
>[number];

/** Collects stacks with their values. */
export class ProfileBuilder {
  readonly #facts: ProfileFacts;
  readonly #texts = new Map<string, bigint>([["", 0n]]);
  readonly #functionIds = new Map<string, bigint>();
  readonly #functions: Init<"function">[] = [];
  readonly #locationIds = new Map<string, LocationId>();
  readonly #locations: Init<"location">[] = [];
  readonly #samples: Init<"sample">[] = [];

  constructor(facts: ProfileFacts) {
    this.#facts = facts;
  }

  /**
   * The place of a function in stacks; `line` counts from 1, and without it the function's first
   * line stands for it.
   */
  location(frame: CallFrame, line?: number): LocationId {
    const functionId = this.#function(frame);
    const shown = line ?? frame.lineNumber + 1;
    const key = `${functionId}:${shown}`;
    const known = this.#locationIds.get(key);
    if (known !== undefined) return known;
    const id = BigInt(this.#locations.length + 1);
    this.#locationIds.set(key, id);
    this.#locations.push({ id, mappingId: MAPPING_ID, line: [{ functionId, line: BigInt(shown) }] });
    return id;
  }

  /**
   * Adds values to a stack, whose innermost place comes first. Values are whole numbers, one for
   * each kind.
   */
  add(stack: readonly LocationId[], values: readonly number[]): void {
    this.#samples.push({ locationId: [...stack], value: values.map((value) => BigInt(value)) });
  }

  /** The profile as a file: gzipped protobuf. */
  build(): Buffer {
    const { kinds, period, takenAtMs, durationMs } = this.#facts;
    const types = kinds.map(({ type, unit }) => ({ type: this.#text(type), unit: this.#text(unit) }));
    const profile = create(ProfileSchema, {
      sampleType: types,
      sample: this.#samples,
      mapping: [
        { id: MAPPING_ID, filename: this.#text(PROGRAM), hasFunctions: true, hasFilenames: true, hasLineNumbers: true },
      ],
      location: this.#locations,
      function: this.#functions,
      timeNanos: nanoseconds(takenAtMs),
      durationNanos: nanoseconds(durationMs),
      period: BigInt(period),
      defaultSampleType: types.at(-1)?.type ?? 0n,
      stringTable: [...this.#texts.keys()], // The last: everything above adds to it.
    });
    const periodType = profile.sampleType.at(-1);
    if (periodType !== undefined) profile.periodType = periodType;
    return gzipSync(toBinary(ProfileSchema, profile));
  }

  #function(frame: CallFrame): bigint {
    const key = `${frame.url}\n${frame.lineNumber}\n${frame.functionName}`;
    const known = this.#functionIds.get(key);
    if (known !== undefined) return known;
    const id = BigInt(this.#functions.length + 1);
    this.#functionIds.set(key, id);
    const name = this.#text(frame.functionName === "" ? "(anonymous)" : frame.functionName);
    const startLine = BigInt(frame.lineNumber + 1);
    this.#functions.push({ id, name, systemName: name, filename: this.#text(fileOf(frame.url)), startLine });
    return id;
  }

  #text(text: string): bigint {
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    const index = BigInt(this.#texts.size);
    this.#texts.set(text, index);
    return index;
  }
}

function fileOf(url: string): string {
  return url.startsWith("file://") ? fileURLToPath(url) : url;
}

function nanoseconds(ms: number): bigint {
  return BigInt(Math.round(ms * 1e6));
}
