// Serves CPU and heap profiles below /debug/pprof/, for `go tool pprof`. Profiles are costly, so they are
// made one at a time.
import type { ServerResponse } from "node:http";
import type { Session } from "node:inspector/promises";
import { setTimeout as sleep } from "node:timers/promises";

import { type AdminRoute, respondText } from "@weir/common/admin/admin-server";

import { findRefusal } from "./profile-guard.ts";

/** Length of a CPU profile in seconds: unless asked otherwise, and at most. */
const SECONDS_DEFAULT = 30;
const SECONDS_MAX = 300;

/** Mean distance of two sampled allocations, in bytes: twice that of Go; costs a decision a few tenths of a percent. */
const HEAP_INTERVAL_BYTES = 1024 * 1024;

const INDEX_PATH = "/debug/pprof/";

/** Access to profiles. */
export interface ProfileOptions {
  /** DEBUG_PROFILING: true serves profiles to every peer. Default false: only on this machine. */
  readonly forEveryone: boolean;
}

/** The profiles of this process, which V8's inspector makes. */
export class Profiles {
  #session: Session | undefined;
  #isBusy = false;

  /** Begins to sample allocations; what was allocated before is in no profile. */
  async start(): Promise<void> {
    const { Session } = await import("node:inspector/promises"); // Here, so that the process is ready earlier.
    this.#session = new Session();
    this.#session.connect();
    await this.#session.post("HeapProfiler.startSampling", { samplingInterval: HEAP_INTERVAL_BYTES });
  }

  /** Ends sampling. */
  stop(): void {
    this.#session?.disconnect();
  }

  /** The routes of an admin listener. */
  routes(options: ProfileOptions): readonly AdminRoute[] {
    const profiles = [
      { path: `${INDEX_PATH}heap`, help: "heap profile for go tool pprof", take: takeHeapProfile },
      { path: `${INDEX_PATH}profile`, help: "CPU profile of ?seconds=30 for go tool pprof", take: takeCpuProfile },
    ];
    const index = profiles.map(({ path, help }) => `${path}: ${help}\n`).join("");
    const help = "root of various pprof endpoints. hit for help.";
    const handle: AdminRoute["handle"] = ({ url }, response) => {
      answer(response, url === INDEX_PATH ? 200 : 404, index);
    };
    return [{ path: INDEX_PATH, help, handle }, ...profiles.map((profile) => this.#route(profile, options))];
  }

  #route(
    { path, help, take }: { readonly path: string; readonly help: string; readonly take: typeof takeCpuProfile },
    { forEveryone }: ProfileOptions,
  ): AdminRoute {
    return {
      ...{ path, help, methods: ["GET"] },
      handle: async (request, response) => {
        const refusal = forEveryone ? undefined : findRefusal(request);
        const query = new URLSearchParams(request.url?.split("?")[1]);
        const seconds = Number(query.get("seconds") ?? SECONDS_DEFAULT);
        if (refusal !== undefined) answer(response, 403, `${refusal}\n`);
        else if (!Number.isInteger(seconds) || seconds < 1 || seconds > SECONDS_MAX)
          answer(response, 400, `seconds must be a whole number from 1 to ${SECONDS_MAX}\n`);
        else if (this.#isBusy || this.#session === undefined)
          answer(response, 409, "not now: another profile is being made\n");
        else {
          this.#isBusy = true;
          const gone = new AbortController();
          response.once("close", () => gone.abort());
          try {
            const profile = await take(this.#session, seconds, gone.signal);
            const headers = { "Content-Type": "application/octet-stream", "Cache-Control": "no-store" };
            if (!response.destroyed) response.writeHead(200, headers).end(profile);
          } finally {
            this.#isBusy = false;
          }
        }
      },
    };
  }
}

/** Ends early with the signal. */
async function takeCpuProfile(session: Session, seconds: number, signal: AbortSignal): Promise<Buffer> {
  await session.post("Profiler.enable");
  await session.post("Profiler.start");
  await sleep(seconds * 1000, undefined, { signal }).catch(() => undefined);
  const { profile } = await session.post("Profiler.stop");
  await session.post("Profiler.disable");
  return (await import("./profile-format.ts")).encodeCpuProfile(profile);
}

/** Takes the profile of the memory that is in use after a garbage collection. */
async function takeHeapProfile(session: Session): Promise<Buffer> {
  const { profile } = await session.post("HeapProfiler.getSamplingProfile");
  return (await import("./profile-format.ts")).encodeHeapProfile(profile);
}

/** `go tool pprof` shows the text of a failure that has this header. */
function answer(response: ServerResponse, status: number, text: string): void {
  response.setHeader("X-Go-Pprof", "1");
  respondText(response, status, text);
}
