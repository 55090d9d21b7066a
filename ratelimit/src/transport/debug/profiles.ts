// Profiles of the running process for Chrome DevTools: where the CPU goes, and what is on the heap. Both hold secrets and cost something to make, so
// they are for peers on the same machine unless a setting says otherwise, and one at a time.
import type { IncomingMessage, ServerResponse } from "node:http";
import { Session } from "node:inspector/promises";
import { pipeline } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { getHeapSnapshot } from "node:v8";

import { type AdminRoute, respondText } from "@weir/common/admin/admin-server";

/** Length of a CPU profile in seconds: unless asked otherwise, and at most. */
const SECONDS_DEFAULT = 30;
const SECONDS_MAX = 300;

/** Who may have profiles. */
export interface ProfileOptions {
  /** DEBUG_PROFILING: true lets every peer have them. Default false: only those on this machine. */
  readonly forEveryone: boolean;
}

/** The routes below /debug/pprof/. */
export function profileRoutes(options: ProfileOptions): readonly AdminRoute[] {
  let isBusy = false;
  const guarded = (make: (request: IncomingMessage, response: ServerResponse) => Promise<void>): AdminRoute["handle"] => {
    return async (request, response) => {
      if (!options.forEveryone && !isLoopback(request.socket.remoteAddress)) {
        respondText(response, 403, "profiles hold secrets: only for this machine itself, unless DEBUG_PROFILING=true\n");
        return;
      }
      if (isBusy) {
        respondText(response, 409, "another profile is being made\n");
        return;
      }
      isBusy = true;
      try {
        await make(request, response);
      } finally {
        isBusy = false;
      }
    };
  };
  const profile = { path: "/debug/pprof/profile", help: "CPU profile of ?seconds=30, a .cpuprofile for Chrome DevTools" };
  const heap = { path: "/debug/pprof/heap", help: "heap snapshot, a .heapsnapshot for Chrome DevTools; stops the process for a moment" };
  const index = [heap, profile].map((route) => `${route.path}: ${route.help}\n`).join("");
  return [
    {
      path: "/debug/pprof/",
      help: "root of various pprof endpoints. hit for help.",
      handle: (_request, response) => respondText(response, 200, index),
    },
    { ...profile, handle: guarded(answerProfile) },
    { ...heap, handle: guarded(answerHeap) },
  ];
}

/** Whether a peer's address is one of this machine itself, also where IPv6 carries it. */
export function isLoopback(address: string | undefined): boolean {
  return address !== undefined && (address === "::1" || /^(::ffff:)?127\./.test(address));
}

async function answerProfile(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const text = new URL(request.url ?? "/", "http://debug").searchParams.get("seconds") ?? String(SECONDS_DEFAULT);
  const seconds = Number(text);
  if (!/^\d+$/.test(text) || seconds < 1 || seconds > SECONDS_MAX) {
    respondText(response, 400, `seconds must be a whole number from 1 to ${SECONDS_MAX}, current value is ${JSON.stringify(text)}\n`);
    return;
  }
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  const session = new Session();
  session.connect();
  try {
    await session.post("Profiler.enable");
    await session.post("Profiler.start");
    // Whoever goes away early gets nothing, and the next may have a turn.
    await sleep(seconds * 1000, undefined, { signal: gone.signal }).catch(() => undefined);
    const { profile } = await session.post("Profiler.stop");
    response.writeHead(200, { "Content-Type": "application/json", "Content-Disposition": 'attachment; filename="weir.cpuprofile"' });
    response.end(JSON.stringify(profile));
  } finally {
    session.disconnect();
  }
}

async function answerHeap(_request: IncomingMessage, response: ServerResponse): Promise<void> {
  response.writeHead(200, { "Content-Type": "application/json", "Content-Disposition": 'attachment; filename="weir.heapsnapshot"' });
  await pipeline(getHeapSnapshot(), response);
}
