// Tests of status-routes.ts: what /readyz answers.
import { describe, expect, it } from "vitest";

import type { IncomingMessage, ServerResponse } from "node:http";

import { Snapshot } from "../snapshot/snapshot.ts";
import type { Metrics } from "./metrics.ts";
import { statusRoutes } from "./status-routes.ts";

describe("statusRoutes() /readyz", () => {
  /** Status and text of the answer; no scrape may be made for it. */
  function probe(notReady: string | undefined): readonly [number, string] {
    const snapshot = new Snapshot([]);
    const publication = new Map([
      ["gold", { snapshot, hold: undefined }],
      ["*", { snapshot: undefined, hold: undefined }],
    ]);
    const never = (): never => {
      throw new Error("A probe must not cost a scrape");
    };
    const routes = statusRoutes({
      metrics: { scrape: never } as unknown as Metrics,
      readiness: () => ({ notReady, publication }),
    });
    const answer = { status: 0, text: "" };
    const response = {
      writeHead: (status: number) => (answer.status = status),
      end: (text: string) => (answer.text = text),
    };
    void routes
      .find(({ path }) => path === "/readyz")
      ?.handle({} as IncomingMessage, response as unknown as ServerResponse);
    return [answer.status, answer.text];
  }

  it("reports the version of each fleet", () => {
    expect(probe(undefined)).toEqual([200, `ready\n* none yet\ngold ${new Snapshot([]).version}\n`]);
  });

  it("reports the reason when it is not ready", () => {
    expect(probe("it is shutting down")).toEqual([503, "not ready: it is shutting down\n"]);
  });
});
