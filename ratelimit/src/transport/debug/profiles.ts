// Serves CPU and heap profiles below /debug/pprof/, for `go tool pprof` and Chrome DevTools.
// Profiles are costly, so they are made one at a time.
import type { IncomingMessage, ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { getHeapSnapshot } from "node:v8";

import { type AdminRoute, respondText } from "@weir/common/admin/admin-server";

import { type HeapSampler, SAMPLING_INTERVAL_BYTES } from "./heap-sampler.ts";
import { findRefusal } from "./profile-guard.ts";

/** Length of a CPU profile in seconds: unless asked otherwise, and at most. */
const SECONDS_DEFAULT = 30;
const SECONDS_MAX = 300;

/** Time between two samples of a CPU profile, in microseconds: V8's own default. */
const CPU_INTERVAL_US = 1000;

/**
 * How long a client may stop reading a profile, in milliseconds: it is megabytes, a snapshot twice
 * the heap, and other clients wait meanwhile.
 */
const CLIENT_TIMEOUT_MS = 30_000;

const INDEX_PATH = "/debug/pprof/";

/** Profiles of Go that this process does not have, each with the nearest one. */
const ABSENT: Readonly<Record<string, string>> = {
  allocs: "see heap?seconds=N for what is allocated and kept meanwhile",
  block: "there are no threads that block each other, see profile",
  cmdline: "the program takes no arguments",
  goroutine: "there are no goroutines, see heap?format=heapsnapshot for pending promises and open sockets",
  mutex: "there are no threads that block each other, see profile",
  symbol: "profiles carry the names of their functions",
  threadcreate: "the process makes no threads by itself, see profile",
  trace: "there is no execution trace, see profile?format=cpuprofile for a timeline",
};

/** Access to profiles. */
export interface ProfileOptions {
  /** DEBUG_PROFILING: true serves profiles to every peer. Default false: only on this machine. */
  readonly forEveryone: boolean;
}

/** Makes the routes. Heap profiles are those of a sampler that runs. */
export function profileRoutes(sampler: HeapSampler, options: ProfileOptions): readonly AdminRoute[] {
  const profiles: readonly AdminRoute[] = [
    {
      path: `${INDEX_PATH}heap`,
      help: "heap profile for go tool pprof, of ?seconds=N what changes meanwhile; for Chrome DevTools ?format=heapprofile, and ?format=heapsnapshot, which stops the process for a moment",
      handle: (request, response) => answerHeap(response, urlOf(request).searchParams, sampler),
    },
    {
      path: `${INDEX_PATH}profile`,
      help: "CPU profile of ?seconds=30 for go tool pprof; ?format=cpuprofile for Chrome DevTools",
      handle: (request, response) => answerCpu(response, urlOf(request).searchParams),
    },
  ];
  return [indexRoute(profiles), ...guardedRoutes(profiles, options)];
}

/** Lists the profiles, and refuses those of Go that do not exist here. */
function indexRoute(profiles: readonly AdminRoute[]): AdminRoute {
  const index = profiles.map(({ path, help }) => `${path}: ${help}\n`).join("");
  return {
    path: INDEX_PATH,
    help: "root of various pprof endpoints. hit for help.",
    handle(request, response) {
      const name = urlOf(request).pathname.slice(INDEX_PATH.length);
      if (name === "") respondText(response, 200, index);
      else
        refuse(response, 404, `there is no profile ${JSON.stringify(name.slice(0, 100))}${reasonOf(name)}\n${index}`);
    },
  };
}

function reasonOf(name: string): string {
  return Object.hasOwn(ABSENT, name) ? `: ${ABSENT[name] ?? ""}` : "";
}

function guardedRoutes(profiles: readonly AdminRoute[], options: ProfileOptions): readonly AdminRoute[] {
  let isBusy = false;
  return profiles.map((profile) => ({
    ...profile,
    async handle(request, response) {
      const refusal = options.forEveryone ? undefined : findRefusal(request);
      if (refusal !== undefined) {
        refuse(response, 403, refusal);
        return;
      }
      if (request.method === "HEAD") {
        response.end(); // The profile exists; it is not made.
        return;
      }
      if (isBusy) {
        refuse(response, 409, "another profile is being made");
        return;
      }
      isBusy = true;
      try {
        await profile.handle(request, response);
      } finally {
        isBusy = false;
      }
    },
  }));
}

async function answerCpu(response: ServerResponse, query: URLSearchParams): Promise<void> {
  const format = readChoice(response, query, ["pprof", "cpuprofile"]);
  if (format === undefined) return;
  const seconds = readSeconds(response, query, SECONDS_DEFAULT);
  if (seconds === undefined) return;
  const takenAtMs = Date.now();
  const { Session } = await import("node:inspector/promises");
  const session = new Session();
  session.connect();
  try {
    await session.post("Profiler.enable");
    await session.post("Profiler.setSamplingInterval", { interval: CPU_INTERVAL_US });
    await session.post("Profiler.start");
    await waitFor(response, seconds);
    const { profile } = await session.post("Profiler.stop");
    if (response.destroyed) return;
    if (format === "cpuprofile") {
      send(response, "weir-ratelimit.cpuprofile", Buffer.from(JSON.stringify(profile)));
      return;
    }
    const { convertCpuProfile } = await import("./cpu-profile.ts");
    send(response, "profile", convertCpuProfile(profile, { intervalUs: CPU_INTERVAL_US, takenAtMs }));
  } finally {
    session.disconnect();
  }
}

async function answerHeap(response: ServerResponse, query: URLSearchParams, sampler: HeapSampler): Promise<void> {
  const format = readChoice(response, query, ["pprof", "heapprofile", "heapsnapshot"]);
  if (format === undefined) return;
  if (format === "heapsnapshot") {
    response.setTimeout(CLIENT_TIMEOUT_MS, () => response.destroy());
    response.writeHead(200, headersOf("weir-ratelimit.heapsnapshot"));
    // A client that closes early is no failure of the service.
    await pipeline(getHeapSnapshot(), response).catch((error: unknown) => {
      if (!response.destroyed) throw error;
    });
    return;
  }
  const seconds = readSeconds(response, query, 0);
  if (seconds === undefined) return;
  const takenAtMs = Date.now();
  const before = seconds > 0 ? await sampler.profile() : undefined;
  await waitFor(response, seconds);
  if (response.destroyed) return;
  const profile = await sampler.profile();
  if (format === "heapprofile") {
    send(response, "weir-ratelimit.heapprofile", Buffer.from(JSON.stringify(profile)));
    return;
  }
  const { convertHeapProfile } = await import("./heap-profile.ts");
  const facts = { intervalBytes: SAMPLING_INTERVAL_BYTES, takenAtMs, durationMs: seconds * 1000 };
  send(response, "heap", convertHeapProfile(profile, facts, before));
}

/** Ends early when the client goes away. */
async function waitFor(response: ServerResponse, seconds: number): Promise<void> {
  if (seconds === 0 || response.destroyed) return;
  const gone = new AbortController();
  const abort = (): void => gone.abort();
  response.once("close", abort);
  await sleep(seconds * 1000, undefined, { signal: gone.signal }).catch(() => undefined);
  response.off("close", abort);
}

/**
 * The format that is asked for, the first unless said otherwise; undefined when the request was
 * refused.
 */
function readChoice<Choice extends string>(
  response: ServerResponse,
  query: URLSearchParams,
  choices: readonly [Choice, ...Choice[]],
): Choice | undefined {
  const text = query.get("format");
  const choice = text === null ? choices[0] : choices.find((value) => value === text);
  if (choice === undefined)
    refuse(response, 400, `format must be one of ${choices.join(", ")}, current value is ${shown(text ?? "")}`);
  return choice;
}

function readSeconds(response: ServerResponse, query: URLSearchParams, otherwise: number): number | undefined {
  const text = query.get("seconds");
  if (text === null) return otherwise;
  const seconds = Number(text);
  if (/^\d{1,6}$/.test(text) && seconds >= 1 && seconds <= SECONDS_MAX) return seconds;
  refuse(response, 400, `seconds must be a whole number from 1 to ${SECONDS_MAX}, current value is ${shown(text)}`);
  return undefined;
}

function shown(text: string): string {
  return JSON.stringify(text.slice(0, 100));
}

/** `go tool pprof` shows the text of an answer that has this header. */
function refuse(response: ServerResponse, status: number, reason: string): void {
  response.setHeader("X-Go-Pprof", "1");
  respondText(response, status, reason.endsWith("\n") ? reason : `${reason}\n`);
}

function send(response: ServerResponse, name: string, body: Buffer): void {
  response.setTimeout(CLIENT_TIMEOUT_MS, () => response.destroy());
  response.writeHead(200, { ...headersOf(name), "Content-Length": body.length });
  response.end(body);
}

function headersOf(name: string): Record<string, string> {
  return {
    "Content-Type": name.includes(".") ? "application/json" : "application/octet-stream",
    "Content-Disposition": `attachment; filename="${name}"`,
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
  };
}

/** A path that no URL can hold has no parameters either. */
function urlOf(request: IncomingMessage): URL {
  return URL.parse(request.url ?? "/", "http://debug") ?? new URL("http://debug/");
}
