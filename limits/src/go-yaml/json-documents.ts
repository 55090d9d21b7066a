// YAML and JSON text as kubectl reads it: every document as a value that JSON can carry, with the place of each part.
import type { FieldPath } from "../model/field-path.ts";
import {
  excerpt,
  locate,
  nameOf,
  type SourceLocation,
  type YamlMap,
  type YamlNode,
  type YamlProblem,
  type YamlScalar,
} from "./node.ts";
import { inOneGo } from "../model/in-one-go.ts";
import { type ParsedDocument, parseYamlInSteps } from "./parse.ts";

/**
 * Largest text that is read, in bytes: what a ConfigMap can hold, by which such files come into a
 * pod; an API server stores no object much larger. Parsing takes one to three seconds for each MiB,
 * up to seven when the text is made for it, and nothing else happens in the meantime.
 */
export const TEXT_MAX_BYTES = 1024 * 1024;

/** Most values that aliases may add: rule sets that share limits need hundreds, a bomb billions. */
const ALIASED_NODES_MAX = 100_000;

/**
 * The beginning of a text whose first content is a directive, up to that. kubectl parts the
 * directive from its document and refuses it; after `...` it passes over it.
 */
const BEFORE_DIRECTIVE = /^\ufeff?(?:[ \t]*(?:#[^\n]*)?\n|[ \t]*\r\n)*(?=%)/;

/** A text that kubectl reads as JSON. */
const JSON_BEGINNING = /^\s*\{/;

/** A value that JSON can carry. */
export type PlainValue =
  string | number | boolean | null | readonly PlainValue[] | { readonly [key: string]: PlainValue };

/** One document of a text. */
export interface YamlDocument {
  /** The place where its content begins. */
  readonly start: SourceLocation;
  /** undefined when the text could not be understood; null for an empty document. */
  readonly value: PlainValue | undefined;
  readonly problems: readonly YamlProblem[];
  /**
   * The place of a value, or of its key; of what does not exist, that of the key of the innermost
   * thing around it that does, which says more than the first key inside.
   */
  readonly locate: (path: FieldPath, what: "key" | "value") => SourceLocation;
}

/**
 * Reads every document of a text, empty ones included. A text that is too large gives one document
 * with that problem. Directives are read in kubeconfig files, which kubectl does not part into
 * documents.
 */
export function readYamlDocuments(
  text: string,
  { directives = "refuse" }: { directives?: "refuse" | "read" } = {},
): readonly YamlDocument[] {
  const sizeBytes = Buffer.byteLength(text);
  if (sizeBytes > TEXT_MAX_BYTES) {
    const at = { line: 1, column: 1 };
    const message = `the text has ${sizeBytes} bytes, at most ${TEXT_MAX_BYTES} are read`;
    return [{ start: at, value: undefined, problems: [{ ...at, message }], locate: () => at }];
  }
  const isJson = JSON_BEGINNING.test(text);
  const [first, ...others] = inOneGo(
    parseYamlInSteps(text, { documents: "all", aliasedNodesMax: ALIASED_NODES_MAX, isJson }),
  ).map(jsonDocument);
  if (first === undefined) return [];
  const directive = directives === "refuse" ? BEFORE_DIRECTIVE.exec(text)?.[0] : undefined;
  if (directive === undefined || first.problems.length > 0) return [first, ...others];
  const problem = {
    line: directive.split("\n").length,
    column: directive.length - directive.lastIndexOf("\n"),
    message: "a directive (%) is not read, and kubectl refuses it: leave the line out",
  };
  return [{ ...first, problems: [problem] }, ...others];
}

function jsonDocument({ start, root, problems, isSyntaxBroken }: ParsedDocument): YamlDocument {
  if (isSyntaxBroken) {
    const explained = problems.map((problem) => ({ ...problem, message: `not valid YAML: ${problem.message}` }));
    return { start, value: undefined, problems: explained, locate: () => start };
  }
  if (root === undefined)
    return { start, value: problems.length > 0 ? undefined : null, problems, locate: () => start };
  const converter = new JsonConverter();
  return {
    start,
    value: converter.valueOf(root),
    problems: [...problems, ...converter.problems],
    locate: (path, what) => {
      const { key, value, isComplete } = locate(root, path);
      return path.length === 0 || (isComplete && what === "value") ? value : key;
    },
  };
}

/** Converts a tree to JSON values. */
class JsonConverter {
  readonly problems: YamlProblem[] = [];
  /** The converted maps and lists, by their nodes: an alias is the same object again. */
  readonly #values = new Map<YamlNode, PlainValue>();

  valueOf(node: YamlNode): PlainValue {
    if (node.kind === "scalar") return this.#scalar(node);
    const known = this.#values.get(node);
    if (known !== undefined) return known;
    const value = node.kind === "list" ? node.elements.map((element) => this.valueOf(element)) : this.#object(node);
    this.#values.set(node, value);
    return value;
  }

  #scalar({ meaning, text, at }: YamlScalar): PlainValue {
    if (meaning.type === "null") return null;
    if (meaning.type === "int") return Number(meaning.value);
    if (meaning.type === "float" && !Number.isFinite(meaning.value))
      this.#report(at, `${text} is not a number that JSON can carry`);
    return meaning.value;
  }

  #object(map: YamlMap): PlainValue {
    // Not by assignment: a key may be called "__proto__".
    const entries = new Map<string, PlainValue>();
    const written = new Map<string, SourceLocation>();
    for (const part of map.parts) {
      if ("merged" in part) {
        for (const source of part.merged)
          for (const [name, value] of Object.entries(this.valueOf(source) as Record<string, PlainValue>))
            entries.set(name, value);
        continue;
      }
      const name = this.#name(part.key);
      const first = written.get(name);
      if (first !== undefined)
        this.#report(part.key.at, `duplicate key ${JSON.stringify(name)}, first on line ${first.line}`);
      else written.set(name, part.key.at);
      entries.set(name, this.valueOf(part.value));
    }
    return Object.fromEntries(entries);
  }

  #name(key: YamlScalar): string {
    const name = nameOf(key);
    if (name === undefined) this.#report(key.at, "a key must be a text, a number or a boolean");
    else this.#scalar(key);
    return name ?? "";
  }

  #report(at: SourceLocation, message: string): void {
    this.problems.push({ ...at, message: excerpt(message) });
  }
}
