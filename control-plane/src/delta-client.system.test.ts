// Tests of the incremental method with a client of go-control-plane's generated stub.
import { mkdtempSync, realpathSync, renameSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { silentLog } from "@weir/common/log/log";
import { eventually } from "@weir/harness/processes/eventually";
import { ROOT, runCommand } from "@weir/harness/processes/programs";
import { type Program, startProgram } from "@weir/harness/processes/start-process";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { ControlPlane } from "./control-plane.ts";
import { parseSettings } from "./settings.ts";
import { manifest } from "./translate/manifests.suite.ts";

/** A report of the client on a response, and on what it holds then. */
interface Report {
  readonly version: string;
  readonly changed: readonly string[] | null;
  readonly removed: readonly string[] | null;
  readonly held: Readonly<Record<string, string>>;
  readonly limits: Readonly<Record<string, number>>;
  readonly error?: string;
}

describe("ControlPlane and go-control-plane's stub of the incremental method", () => {
  let folder: string;
  let plane: ControlPlane;
  let client: Program;
  let reports: Report[];

  function save(name: string, requestsPerUnit: number, domain = name): void {
    writeFileSync(join(folder, ".new"), manifest({ name, domain, requestsPerUnit }));
    renameSync(join(folder, ".new"), join(folder, `${name}.yaml`));
  }

  /** Begins a stream with what the client holds; it NACKs resources whose names begin so. */
  function connect(rejected = ""): void {
    client.child.stdin!.write(`${rejected}\n`);
  }

  /** Resolves with the report of this number, counted from 1. */
  function report(count: number): Promise<Report> {
    return eventually(`report ${count}`, () => {
      const found = reports[count - 1];
      if (found === undefined) throw new Error(JSON.stringify(reports));
      return found;
    });
  }

  async function podState(): Promise<unknown> {
    const url = `http://127.0.0.1:${plane.http.address()?.port ?? 0}/weir.rollout.v1.RolloutService/GetRollout`;
    const answer = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body: "{}" });
    const { rollout } = (await answer.json()) as { readonly rollout: { readonly pods?: readonly { state: string }[] } };
    return rollout.pods?.map(({ state }) => state);
  }

  beforeEach(async () => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), "weir-delta-client-")));
    save("a", 1);
    save("b", 2);
    const listeners = {
      ADS_HOST: "127.0.0.1",
      ADS_PORT: "0",
      ADS_PLAINTEXT: "true",
      HTTP_HOST: "127.0.0.1",
      HTTP_PORT: "0",
      CONSOLE_PORT: "0",
    };
    const settings = parseSettings({ SOURCE_DIRECTORY: folder, ...listeners });
    plane = new ControlPlane({ log: silentLog(), clock: Date.now, tracer: undefined }, settings);
    await plane.lifecycle.start();
    const built = await runCommand("sh tools/build-oracle.sh control-plane/oracle/delta-client", { cwd: ROOT });
    expect(built.stderr).toBe("");
    const address = `127.0.0.1:${plane.ads.address()?.port ?? 0}`;
    client = startProgram(built.stdout.trim(), [`-address=${address}`], {}, { hasInput: true });
    reports = [];
    createInterface(client.child.stdout!).on("line", (line) => reports.push(JSON.parse(line) as Report));
  });

  afterEach(async () => {
    await client.end();
    await plane.lifecycle.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it("sends all, what changes, and what is removed with what takes over its domain", async () => {
    connect();
    expect(await report(1)).toMatchObject({
      changed: ["default/a", "default/b"],
      limits: { "default/a": 1, "default/b": 2 },
    });
    save("b", 3);
    expect(await report(2)).toMatchObject({ changed: ["default/b"], limits: { "default/a": 1, "default/b": 3 } });
    await eventually("the ACK", async () => expect(await podState()).toEqual(["POD_STATE_ACCEPTED"]));
    unlinkSync(join(folder, "a.yaml"));
    save("c", 4, "a");
    const last = await report(3);
    expect(last).toMatchObject({ changed: ["default/c"], removed: ["default/a"] });
    connect();
    expect(await report(4)).toMatchObject({ changed: null, removed: null, version: last.version, held: last.held });
    await eventually("the ACK", async () => expect(await podState()).toEqual(["POD_STATE_ACCEPTED"]));
  });

  it("repeats what is NACKed one by one, reports it, and keeps what the client has", async () => {
    connect("default/b");
    expect(await report(1)).toMatchObject({ error: "default/b: not accepted", held: {} });
    expect(await report(2)).toMatchObject({ changed: ["default/a"], limits: { "default/a": 1 } });
    await eventually("the NACK", async () => expect(await podState()).toEqual(["POD_STATE_REJECTED"]));
    connect();
    expect(await report(3)).toMatchObject({ changed: ["default/b"], limits: { "default/a": 1, "default/b": 2 } });
  });
});
