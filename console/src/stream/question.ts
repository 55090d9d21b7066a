// The question that a view asks one replica, in addition to what it watches of all. Every replica has the same rules.
import type { MessageShape } from "@bufbuild/protobuf";
import {
  ExplainRequestResponseSchema,
  GetRulesResponseSchema,
  ListChangesResponseSchema,
} from "@weir/proto/generated/weir/console/v1/console_pb";
import { parseDescriptor } from "@weir/proto/explain/descriptor-text";

import type { Route } from "../route.ts";

/** The responses of `weir.console.v1.ConsoleService` by method. */
export const RESPONSES = {
  GetRules: GetRulesResponseSchema,
  ListChanges: ListChangesResponseSchema,
  ExplainRequest: ExplainRequestResponseSchema,
} as const;

export type Method = keyof typeof RESPONSES;

/** A call, its request as JSON. */
export interface Question {
  readonly method: Method;
  readonly request: unknown;
}

type Response<Name extends Method> = MessageShape<(typeof RESPONSES)[Name]>;

/** The response to a question, or why there is none. */
export type Answer =
  | { [Name in Method]: { readonly method: Name; readonly response: Response<Name> } }[Method]
  | { readonly method: undefined; readonly reason: string };

/** The response of this method, if the answer is one. */
export function responseTo<Name extends Method>(method: Name, answer: Answer | undefined): Response<Name> | undefined {
  return answer?.method === method ? (answer.response as Response<Name>) : undefined;
}

/** The question that the view asks; undefined: none. */
export function questionOf(route: Route | undefined): Question | undefined {
  switch (route?.view) {
    case "rule": {
      const { fleet, domain, path } = route.rule;
      return { method: "GetRules", request: { fleet, rules: [{ domain, path }], withDifference: true } };
    }
    case "rollouts":
      return { method: "ListChanges", request: {} };
    case "try": {
      const { fleet, domain, descriptors } = route.request;
      const parsed = descriptors.map(parseDescriptor);
      // The view says what is wrong with the others.
      if (parsed.length === 0 || parsed.some((entries) => typeof entries === "string")) return undefined;
      return {
        method: "ExplainRequest",
        request: { fleet, domain, descriptors: parsed.map((entries) => ({ entries })), withCounts: true },
      };
    }
    default:
      return undefined;
  }
}
