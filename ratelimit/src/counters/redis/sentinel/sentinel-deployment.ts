// The deployment type "sentinel": one server, the primary, at the address that sentinels name. Only
// increments that a server refused because it is not the primary are sent again: never twice.
import { ServiceError } from "@weir/common/errors/service-error";
import type { Log } from "@weir/common/log/log";
import { RateLimitedLog } from "@weir/common/log/rate-limited-log";
import type { CountBatch, CountedCheck } from "../../counter.ts";
import type { StoreError } from "../../store-error.ts";
import { addressOf, type RedisAddress } from "../address.ts";
import type { Deployment, DeploymentDeps, DeploymentOptions } from "../deployment.ts";
import { RedisServer } from "../server/server.ts";
import type { ServerEvents } from "../server/server-events.ts";
import { shareAmongServers } from "../server/server-options.ts";
import { StartWait } from "../../start-wait.ts";
import { connectionError } from "../store-errors.ts";
import { CommandBatch, type RefusedChecks } from "../batch/command-batch.ts";
import type { KeyExpiry } from "../expiry/expiry-cache.ts";
import { RefreshSchedule } from "../topology/refresh-schedule.ts";
import { PrimaryLookup } from "./primary-lookup.ts";
import { parseSentinelAddress, type SentinelAddress } from "./sentinel-address.ts";
import { type PrimaryPlace, SentinelClient } from "./sentinel-client.ts";

/**
 * When the sentinels are asked for the primary, in milliseconds: regularly for the case that a
 * published change was lost, more often while the primary is away.
 */
const TIMING = { regularMs: 5_000, degradedMs: 250, soonMs: 20 };

/**
 * Longest wait for a sentinel, in milliseconds, even if KVSTORE_TIMEOUT is longer: another one may
 * know the primary.
 */
const SENTINEL_TIMEOUT_MAX_MS = 2_000;

/** Shortest time between two warnings that no sentinel answers, in milliseconds. */
const WARNING_INTERVAL_MS = 60_000;

/** Replies of a server that is not (yet) the primary: the command was not executed. */
const NOT_PRIMARY = /^(?:READONLY|LOADING|MASTERDOWN)\b/;

/** Makes the deployment. Fails with STORE_ADDRESS_INVALID when the address cannot be read. */
export function createSentinelDeployment(deps: DeploymentDeps, options: DeploymentOptions): Deployment {
  const parsed = parseSentinelAddress(options.server);
  if (!parsed.ok)
    throw new ServiceError("STORE_ADDRESS_INVALID", `Cannot use ${options.urlSetting}: ${parsed.problem}`);
  return new SentinelDeployment(deps, options, parsed.address);
}

class SentinelDeployment implements Deployment, ServerEvents<RedisServer> {
  readonly #log: Log;
  readonly #address: SentinelAddress;
  readonly #timeoutMs: number;
  readonly #server: RedisServer;
  readonly #sentinels: readonly SentinelClient[];
  readonly #lookup: PrimaryLookup<SentinelClient, PrimaryPlace>;
  readonly #refresh: RefreshSchedule;
  readonly #startWait = new StartWait();
  /** Why the primary does not work yet. */
  #trouble: StoreError;
  #isPrimaryKnown = false;
  #isClosed = false;
  /** Warns when no sentinel answers. */
  readonly #warnings: RateLimitedLog;

  constructor(deps: DeploymentDeps, options: DeploymentOptions, address: SentinelAddress) {
    const { log, random } = deps;
    const { server, counter } = options;
    this.#log = log;
    this.#warnings = new RateLimitedLog(log, { intervalMs: WARNING_INTERVAL_MS, monotonicMs: deps.monotonicMs });
    this.#address = address;
    this.#timeoutMs = counter.commandTimeoutMs;
    this.#trouble = connectionError(address.text, new Error("no sentinel has answered yet"));
    this.#server = new RedisServer(
      shareAmongServers(deps, options),
      { server, counter, address: unknownPrimary(address), wantsPrimary: true },
      this,
    );
    const timeoutMs = Math.min(server.connectTimeoutMs, SENTINEL_TIMEOUT_MAX_MS);
    const changed = (sentinel: SentinelClient): void => {
      this.#lookup.prefer(sentinel);
      this.#refresh.soon();
    };
    this.#sentinels = address.sentinels.map(
      (sentinel) =>
        new SentinelClient(
          { address: sentinel, tls: server.tls, random, changed },
          { primaryName: address.primaryName, timeoutMs },
        ),
    );
    this.#lookup = new PrimaryLookup(this.#sentinels, (sentinel, signal) => sentinel.ask(signal));
    this.#refresh = new RefreshSchedule(
      {
        refresh: () => this.#findPrimary(),
        isDegraded: () => !this.#server.isReady,
        startup: counter.startup,
        random,
      },
      TIMING,
    );
  }

  /** Waits for a connection to the primary, at most `maxElapsedMs` if that is above 0. */
  async start(maxElapsedMs: number): Promise<void> {
    if (this.#isClosed) throw this.#stoppingError();
    try {
      const { text } = this.#address;
      await this.#startWait.wait(() => this.#refresh.start(), {
        maxElapsedMs,
        store: `the counter store ${text}`,
        reason: () => this.#trouble,
      });
    } catch (error) {
      this.close();
      throw error;
    }
    for (const sentinel of this.#sentinels) sentinel.open();
  }

  close(): void {
    this.#isClosed = true;
    this.#refresh.close();
    for (const sentinel of this.#sentinels) sentinel.close();
    this.#server.close();
    this.#startWait.fail(this.#stoppingError());
  }

  refusal(nowMs: number): StoreError | undefined {
    return this.#server.refusal(nowMs);
  }

  add(check: CountedCheck, call: CountBatch, nowMs: number): void {
    this.#server.add(check, call, nowMs);
  }

  read(check: CountedCheck, call: CountBatch, nowMs: number): void {
    this.#server.read(check, call, nowMs);
  }

  isRefusal(error: Error): boolean {
    return NOT_PRIMARY.test(error.message);
  }

  refused(server: RedisServer, refused: readonly RefusedChecks[], createdMs: number): void {
    // The connection is closed after such a reply, so the checks wait for the next primary, within
    // their time.
    const batch = new CommandBatch(createdMs, this.#timeoutMs);
    for (const { checks } of refused) batch.adopt(checks);
    server.resend(batch);
    this.#refresh.soon();
  }

  expiryMissing(server: RedisServer, expiry: KeyExpiry): void {
    server.sendExpiry(expiry);
  }

  serverReady(): void {
    this.#startWait.succeed();
  }

  serverLost(server: RedisServer): void {
    if (!server.isReady) this.#refresh.soon();
  }

  serverFailed(server: RedisServer, cause: unknown): void {
    this.#trouble = connectionError(server.address.text, cause);
  }

  /** Asks the sentinels and follows their answer. */
  async #findPrimary(): Promise<boolean> {
    try {
      const place = await this.#lookup.ask();
      if (!this.#isClosed) this.#found(place);
      // The primary may be moving, and the next sentinel may know its new address already.
      if (!this.#server.isReady) this.#lookup.advance();
      return true;
    } catch (error) {
      if (!this.#isClosed) this.#notFound(error);
      return this.#isPrimaryKnown; // A primary that works needs no sentinel: no hurry to ask again.
    }
  }

  #found(place: PrimaryPlace): void {
    this.#warnings.recovered("A sentinel answers again", { address: this.#address.text });
    const { auth, primaryName } = this.#address;
    const address = addressOf(place, { isTls: false, auth, database: 0 });
    const before = this.#server.address.text;
    if (this.#isPrimaryKnown && address.text === before) return;
    if (this.#isPrimaryKnown)
      this.#log.warn("The sentinels name another primary", { name: primaryName, before, address: address.text });
    this.#isPrimaryKnown = true;
    this.#server.moveTo(address, new Error(`the sentinels name ${address.text} as the primary now`));
  }

  #stoppingError(): StoreError {
    return connectionError(this.#address.text, new Error("the backend is stopping"));
  }

  #notFound(error: unknown): void {
    if (!this.#isPrimaryKnown) this.#trouble = error as StoreError;
    this.#warnings.warn("No sentinel names the primary, trying again", { address: this.#address.text, error });
  }
}

/** A placeholder until a sentinel has named the primary; it is never connected to. */
function unknownPrimary({ text }: SentinelAddress): RedisAddress {
  return { target: { kind: "tcp", host: "localhost", port: 0 }, isTls: false, auth: undefined, database: 0, text };
}
