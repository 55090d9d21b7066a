// Clients that ask for reports and do not read them: so many answers wait for them and no more,
// others hear why they get none, and are answered when those have gone.
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { type ClientHttp2Session, connect } from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { silentLog } from "@weir/common/log/log";
import { ScriptedPod } from "@weir/harness/ads/scripted-pod";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { until } from "./ads/ads-client.suite.ts";
import { manifest } from "./translate/manifests.suite.ts";
import { ControlPlane } from "./control-plane.ts";
import { parseSettings } from "./settings.ts";

/**
 * Resources of which a report is larger than what flow control lets pass to a client that does not
 * read.
 */
const RESOURCES = 1000;

const GET_ROLLOUT = "/weir.rollout.v1.RolloutService/GetRollout";

/** An empty message, as gRPC frames it. */
const EMPTY_MESSAGE = Buffer.alloc(5);

/** How a call stands: whether an answer has begun to come, and how it ended. */
interface Call {
  isAnswered: boolean;
  status: string | undefined;
  text: string | undefined;
}

describe("clients that do not read their answers", () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "weir-unread-")));
  let controlPlane: ControlPlane;
  let pod: ScriptedPod;
  const sessions: ClientHttp2Session[] = [];

  beforeAll(async () => {
    const texts = Array.from({ length: RESOURCES }, (_, index) =>
      manifest({ name: `name-${index}`, domain: `domain-${index}` }),
    );
    writeFileSync(join(folder, "all.yaml"), texts.join("---\n"));
    const listeners = {
      ADS_HOST: "127.0.0.1",
      ADS_PORT: "0",
      ADS_PLAINTEXT: "true",
      HTTP_HOST: "127.0.0.1",
      HTTP_PORT: "0",
      CONSOLE_PORT: "0",
    };
    controlPlane = new ControlPlane(
      { log: silentLog(), clock: Date.now, tracer: undefined },
      parseSettings({ SOURCE_DIRECTORY: folder, ...listeners }),
    );
    await controlPlane.lifecycle.start();
    pod = new ScriptedPod(controlPlane.ads.address()?.port ?? 0);
    pod.request();
    await pod.response(1);
  });

  afterAll(async () => {
    pod.close();
    for (const session of sessions) session.destroy();
    await controlPlane.lifecycle.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  function openSession(): ClientHttp2Session {
    const session = connect(`http://127.0.0.1:${controlPlane.ads.address()?.port ?? 0}`);
    session.on("error", () => undefined);
    sessions.push(session);
    return session;
  }

  /** Calls a method with an empty message. */
  function call(session: ClientHttp2Session, path: string, reads: boolean): Call {
    const state: Call = { isAnswered: false, status: undefined, text: undefined };
    const stream = session.request({
      ":method": "POST",
      ":path": path,
      "content-type": "application/grpc",
      te: "trailers",
    });
    const note = (headers: Readonly<Record<string, unknown>>): void => {
      state.isAnswered = true;
      if (typeof headers["grpc-status"] === "string") state.status = headers["grpc-status"];
      if (typeof headers["grpc-message"] === "string") state.text = decodeURIComponent(headers["grpc-message"]);
    };
    stream.on("response", note);
    stream.on("trailers", note);
    stream.on("error", () => undefined);
    if (reads) stream.resume();
    else stream.pause();
    stream.end(EMPTY_MESSAGE);
    return state;
  }

  /**
   * Makes so many calls whose answers no client reads, then one more; resolves with how that ended.
   */
  async function oneMoreThan(count: number, path: string): Promise<Call> {
    const unread = Array.from({ length: count }, () => call(openSession(), path, false));
    await until("answers to all", () => unread.every(({ isAnswered }) => isAnswered));
    expect(unread.map(({ status }) => status)).toEqual(unread.map(() => undefined));
    const late = call(openSession(), path, true);
    await until("the end of the late call", () => late.status !== undefined);
    return late;
  }

  /** Resolves when a call is answered. */
  async function answered(path: string): Promise<void> {
    await until("an answer", async () => {
      const again = call(openSession(), path, true);
      await until("the end of a call", () => again.status !== undefined);
      return again.status === "0";
    });
  }

  function leave(): void {
    for (const session of sessions.splice(0)) session.destroy();
  }

  it("GetRollout is refused beyond 32 answers, over gRPC and Connect, and answered when those have gone", async () => {
    const http = `http://127.0.0.1:${controlPlane.http.address()?.port ?? 0}`;
    const words =
      "Cannot report the rollout: 32 answers are on their way to clients that have not read them yet; ask again in a moment";
    expect(await oneMoreThan(32, GET_ROLLOUT)).toMatchObject({ status: "8", text: words });
    const post = { method: "POST", body: "{}", headers: { "content-type": "application/json" } };
    const connectAnswer = await fetch(`${http}${GET_ROLLOUT}`, post);
    expect([connectAnswer.status, await connectAnswer.json()]).toEqual([
      429,
      { code: "resource_exhausted", message: words },
    ]);
    expect(connectAnswer.headers.get("retry-after")).toBe("1");
    expect((await fetch(`${http}/readyz`)).status).toBe(200);
    expect((await fetch(`${http}/metrics`)).status).toBe(200);
    leave();
    await answered(GET_ROLLOUT);
    // Those that read count only while they do.
    for (let count = 0; count < 40; count += 1)
      expect((await (await fetch(`${http}${GET_ROLLOUT}`, post)).text()).length).toBeGreaterThan(0);
    expect((await fetch(`${http}${GET_ROLLOUT}`, post)).status).toBe(200);
  });
});
