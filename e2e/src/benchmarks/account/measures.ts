// The measures of the account service. Each starts services of its own, and checks every answer.
import { availableParallelism } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { childrenOf } from "@weir/harness/processes/processes";
import { residentMebibytes } from "../cpu-time.ts";
import { measureHashRate } from "./hash-rate.ts";
import { atLeast, atMost, type Figure, type Measure } from "../run-measures.ts";
import { type LoadOptions, type LoadResult, runLoad, startLoad } from "./http-load.ts";
import { measureBesidePipelining } from "./pipelining.ts";
import {
  changeNameRequest,
  currentUserRequest,
  listSessionsRequest,
  loginRequest,
  refreshRequest,
  registerRequest,
  takeCookies,
  wrongLoginRequest,
} from "./requests.ts";
import { type AccountPlace, type AccountService, startService } from "./service.ts";

/** Connections of every load. */
const CONNECTIONS = 16;

/** How long each load lasts, in milliseconds, after a shorter one that warms the service up. */
const LOAD_MS = 10_000;
const WARM_UP_MS = 2000;

const STARTS = 5;
const REGISTRATIONS = 10_000;

/** Connections of a flood: each is refused as busy, and tries again after a second. */
const FLOOD_CONNECTIONS = 200;

/** Cost of the hashes of logins: the default of the service. */
const COST = 12;

/** Cost where hashes are not what is measured. */
const CHEAP_COST = 4;

/** Rounds of logins and of hashes alone, one after the other. */
const ROUNDS = 2;

/** All measures in their order. */
export const MEASURES: readonly Measure<AccountPlace>[] = [
  { id: "start", run: measureStart },
  { id: "current-user", run: measureCurrentUser },
  { id: "refresh", run: measureRefresh },
  { id: "profile", run: measureProfile },
  { id: "login", run: measureLogins },
  { id: "flood", run: measureFlood },
  { id: "pipelining", run: measurePipelining },
  { id: "memory", run: measureMemory },
];

async function measureStart(place: AccountPlace): Promise<readonly Figure[]> {
  let longestMs = 0;
  for (let start = 0; start < STARTS; start += 1) {
    const service = await startService(place);
    longestMs = Math.max(longestMs, service.readyMs);
    await service.stop();
  }
  return [{ what: `start → ready, longest of ${STARTS}`, bar: atMost(1), value: longestMs / 1000, unit: "s" }];
}

/** The current user while the one hash that runs at a time always has others waiting. */
async function measureCurrentUser(place: AccountPlace): Promise<readonly Figure[]> {
  const service = await startService(place, { BCRYPT_COST: String(COST), BCRYPT_CONCURRENCY: "1" });
  await registerUsers(service, CONNECTIONS);
  const sessions = await openSessions(service);
  const requests = sessions.map(currentUserRequest);
  const logins = startLoad(loadOf(service, (index) => loginRequest(index)));
  const result = await measured(loadOf(service, (index) => requests[index]));
  logins.stop();
  const { perSecond } = await logins.done;
  await service.stop();
  const what = "current user while logins saturate the hash queue";
  return [
    { what, bar: atLeast(2000), value: result.perSecond, unit: "/s" },
    { what: "the same, p99", bar: atMost(20), value: result.p99Ms, unit: "ms" },
    { what: "the same, logins meanwhile", value: perSecond, unit: "/s" },
  ];
}

async function measureRefresh(place: AccountPlace): Promise<readonly Figure[]> {
  const service = await startService(place, { BCRYPT_COST: String(CHEAP_COST) });
  await registerUsers(service, CONNECTIONS);
  const sessions = await openSessions(service);
  const answered: LoadOptions["answered"] = (index, answer) => takeCookies(sessions[index]!, answer);
  const result = await measured(loadOf(service, (index) => refreshRequest(sessions[index]!), { answered }));
  await service.stop();
  return [
    { what: "refreshes of 16 sessions", bar: atLeast(1000), value: result.perSecond, unit: "/s" },
    { what: "the same, p99", value: result.p99Ms, unit: "ms" },
  ];
}

/** The calls by which users look at their sessions and change their profile. */
async function measureProfile(place: AccountPlace): Promise<readonly Figure[]> {
  const service = await startService(place, { BCRYPT_COST: String(CHEAP_COST) });
  await registerUsers(service, CONNECTIONS);
  const sessions = await openSessions(service);
  const lists = sessions.map(listSessionsRequest);
  const listed = await measured(loadOf(service, (index) => lists[index]));
  let change = 0;
  const next = (index: number): Buffer => changeNameRequest(sessions[index]!, `Ada ${(change += 1)}`);
  const changed = await measured(loadOf(service, next));
  await service.stop();
  return [
    { what: "lists of sessions", value: listed.perSecond, unit: "/s" },
    { what: "changes of the name by 16 users", value: changed.perSecond, unit: "/s" },
    { what: "the same, p99", value: changed.p99Ms, unit: "ms" },
  ];
}

/** Logins next to what the hash alone allows, which both take as many threads for as the machine has. */
async function measureLogins(place: AccountPlace): Promise<readonly Figure[]> {
  const service = await startService(place, { BCRYPT_COST: String(COST) });
  await registerUsers(service, CONNECTIONS);
  const options = loadOf(service, (index) => loginRequest(index));
  let [logins, hashes] = [0, 0];
  for (let round = 0; round < ROUNDS; round += 1) {
    hashes += (await measureHashRate(COST, availableParallelism(), LOAD_MS)) / ROUNDS;
    logins += (await measured(options)).perSecond / ROUNDS;
  }
  await service.stop();
  return [
    {
      what: "logins per hash that the machine makes alone",
      bar: atLeast(90),
      value: (logins / hashes) * 100,
      unit: "%",
    },
    { what: `the same, logins (BCRYPT_COST=${COST})`, value: logins, unit: "/s" },
  ];
}

/** Logins from one address while another one, of another network, guesses 200 times a second. */
async function measureFlood(place: AccountPlace): Promise<readonly Figure[]> {
  const service = await startService(place, { BCRYPT_COST: String(COST), TRUST_PROXY: "1" });
  await registerUsers(service, 1);
  const guess = (): Buffer => wrongLoginRequest(0, "203.0.113.7");
  const flood = startLoad(loadOf(service, guess, { connections: FLOOD_CONNECTIONS, status: 401 }));
  const login = (): Buffer => loginRequest(0, "198.51.100.1");
  const { p50Ms, p99Ms } = await measured(loadOf(service, login, { connections: 1 }));
  flood.stop();
  await flood.done;
  await service.stop();
  return [
    {
      what: "login while another network guesses 200 times a second, p99",
      bar: atMost(2000),
      value: p99Ms,
      unit: "ms",
    },
    { what: "the same, p50", value: p50Ms, unit: "ms" },
  ];
}

async function measurePipelining(place: AccountPlace): Promise<readonly Figure[]> {
  const service = await startService(place);
  const { p99Ms, growthMib } = await measureBesidePipelining(service, LOAD_MS);
  await service.stop();
  return [
    { what: "/healthz next to 20 clients that pipeline, p99", bar: atMost(100), value: p99Ms, unit: "ms" },
    { what: "the same, growth of RSS", bar: atMost(50), value: growthMib, unit: "MiB" },
  ];
}

/** Memory after many registrations, of the service and of the process that decodes its images. */
async function measureMemory(place: AccountPlace): Promise<readonly Figure[]> {
  const service = await startService(place, { BCRYPT_COST: String(CHEAP_COST) });
  const { perSecond } = await registerUsers(service, REGISTRATIONS);
  const { pid } = service.process;
  const children = childrenOf(pid).map(residentMebibytes);
  const main = residentMebibytes(pid);
  await service.stop();
  const what = `RSS after ${REGISTRATIONS} registrations, main process`;
  return [
    { what, bar: atMost(150), value: main, unit: "MiB" },
    ...children.map((value) => ({ what: "the same, image process", bar: atMost(150), value, unit: "MiB" })),
    { what: `the same, registrations (BCRYPT_COST=${CHEAP_COST})`, value: perSecond, unit: "/s" },
  ];
}

/** Registers the users from 0 on. */
function registerUsers(service: AccountService, count: number): Promise<LoadResult> {
  let user = 0;
  const next = (): Buffer | undefined => (user < count ? registerRequest(user++) : undefined);
  return startLoad(loadOf(service, next, { connections: Math.min(CONNECTIONS, count), status: 201 })).done;
}

/** Logs one user in for each connection; gives the cookies of each. */
async function openSessions(service: AccountService): Promise<readonly Map<string, string>[]> {
  const sessions = Array.from({ length: CONNECTIONS }, () => new Map<string, string>());
  const waiting = new Set(sessions.keys());
  const next: LoadOptions["next"] = (index) => (waiting.delete(index) ? loginRequest(index) : undefined);
  const answered: LoadOptions["answered"] = (index, answer) => takeCookies(sessions[index]!, answer);
  await startLoad(loadOf(service, next, { answered })).done;
  return sessions;
}

/** A load of all connections, whose good answers are 200. */
function loadOf(
  { port }: AccountService,
  next: LoadOptions["next"],
  further: Partial<Omit<LoadOptions, "port" | "next">> = {},
): LoadOptions {
  return { port, connections: CONNECTIONS, next, status: 200, ...further };
}

async function measured(options: LoadOptions): Promise<LoadResult> {
  await runLoad(options, WARM_UP_MS);
  await delay(200); // Both sides forget the connections of the warm-up.
  return runLoad(options, LOAD_MS);
}
