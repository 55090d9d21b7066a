// Runs regular expressions of a request within a time limit: the engine of JavaScript can backtrack
// indefinitely, and only a script can be interrupted.
import { createContext, Script } from "node:vm";

import { ReportError } from "../report-error.ts";

/** Time for all expressions of one request together, in milliseconds. */
const BUDGET_MS = 100;

/** Longest expression, in characters. */
const EXPRESSION_MAX = 1000;

/** The expressions of one request. */
export interface Expressions {
  /** Whether it matches the whole text. Fails with CLIENT_STATUS_REFUSED: invalid, or too slow. */
  matches(expression: string, text: string): boolean;
}

/** Makes the expressions of one request. */
export function createExpressions(): Expressions {
  const script = new Script("expression.test(text)");
  const compiled = new Map<string, RegExp>();
  const holder: { expression?: RegExp; text?: string } = {};
  const context = createContext(holder);
  let leftMs = BUDGET_MS;
  return {
    matches: (expression, text) => {
      const known = compiled.get(expression) ?? compile(expression);
      compiled.set(expression, known);
      if (leftMs <= 0) throw tooSlow();
      const startedMs = performance.now();
      holder.expression = known;
      holder.text = text;
      try {
        return script.runInContext(context, { timeout: Math.ceil(leftMs) }) === true;
      } catch {
        throw tooSlow(); // A test cannot fail in any other way.
      } finally {
        leftMs -= performance.now() - startedMs;
      }
    },
  };
}

function compile(expression: string): RegExp {
  if (expression.length > EXPRESSION_MAX) {
    throw new ReportError(
      "CLIENT_STATUS_REFUSED",
      `Cannot select clients: an expression is longer than ${EXPRESSION_MAX} characters`,
    );
  }
  try {
    return new RegExp(`^(?:${expression})$`, "u");
  } catch (cause) {
    throw new ReportError(
      "CLIENT_STATUS_REFUSED",
      `Cannot select clients: ${JSON.stringify(expression)} is no regular expression`,
      { cause },
    );
  }
}

function tooSlow(): ReportError {
  return new ReportError(
    "CLIENT_STATUS_REFUSED",
    `Cannot select clients: their expressions take longer than ${BUDGET_MS} ms`,
  );
}
