// The deployment type "sentinel": one server, the primary, at the address that sentinels name; it
// moves where they say. An increment is never sent twice: only those are sent again that a server
// refused because it is no primary (any more).
import { createBackoff } from "@weir/common/backoff/backoff";
import { ServiceError } from "@weir/common/errors/service-error";
import type { Log } from "@weir/common/log/log";
import type { CountBatch, CountedCheck } from "../../../counter.ts";
import type { StoreError } from "../../../store-error.ts";
import { addressOf, type KvstoreAddress } from "../../address.ts";
import type { Deployment, DeploymentDeps, DeploymentOptions } from "../../deployment.ts";
import { KvstoreServer, type ServerEvents } from "../../server/server.ts";
import { shareAmongServers } from "../../server/server-options.ts";
import { StartWait } from "../../../start-wait.ts";
import { connectionError } from "../../store-errors.ts";
import { type KeyExpiry, type RefusedChecks, CommandBatch } from "../../batch/command-batch.ts";
import { PrimaryWatch } from "./primary-watch.ts";
import { parseSentinelAddress, type SentinelAddress } from "./sentinel-address.ts";
import { type PrimaryPlace, SentinelClient } from "./sentinel-client.ts";

/** Waits between attempts to subscribe to a sentinel, in milliseconds. */
const SUBSCRIBE_INITIAL_MS = 250;
const SUBSCRIBE_MAX_MS = 5_000;

/**
 * Longest wait for a sentinel, however long KVSTORE_TIMEOUT is, in milliseconds: others may know.
 */
const SENTINEL_TIMEOUT_MAX_MS = 2_000;

/** Replies of a server that is no primary, or not yet: the command was not carried out. */
const NOT_PRIMARY = /^(?:READONLY|LOADING|MASTERDOWN)\b/;

/** Makes the deployment. Fails with STORE_ADDRESS_INVALID when the address cannot be read. */
export function createSentinelDeployment(deps: DeploymentDeps, options: DeploymentOptions): Deployment {
  const parsed = parseSentinelAddress(options.server);
  if (!parsed.ok)
    throw new ServiceError("STORE_ADDRESS_INVALID", `Cannot use ${options.urlSetting}: ${parsed.problem}`);
  return new SentinelDeployment(deps, options, parsed.address);
}

class SentinelDeployment implements Deployment, ServerEvents {
  readonly #log: Log;
  readonly #address: SentinelAddress;
  readonly #timeoutMs: number;
  readonly #server: KvstoreServer;
  readonly #sentinels: readonly SentinelClient[];
  readonly #watch: PrimaryWatch<SentinelClient, PrimaryPlace>;
  readonly #startWait = new StartWait();
  /** Why there is no primary yet. */
  #trouble: StoreError;
  #isPrimaryKnown = false;
  #isClosed = false;
  /** Whether a warning says that no sentinel answers. */
  #areSentinelsSilent = false;

  constructor(deps: DeploymentDeps, options: DeploymentOptions, address: SentinelAddress) {
    const { log, random } = deps;
    const { server, counter } = options;
    const { initialMs, maxMs } = counter.startup;
    this.#log = log;
    this.#address = address;
    this.#timeoutMs = counter.commandTimeoutMs;
    this.#trouble = connectionError(address.text, new Error("no sentinel has answered yet"));
    this.#server = new KvstoreServer(
      shareAmongServers(deps, options),
      { server, counter, address: unknownPrimary(address), wantsPrimary: true },
      this,
    );
    const timeoutMs = Math.min(server.connectTimeoutMs, SENTINEL_TIMEOUT_MAX_MS);
    this.#sentinels = address.sentinels.map((sentinel) => {
      const backoff = createBackoff({
        initialMs: SUBSCRIBE_INITIAL_MS,
        maxMs: SUBSCRIBE_MAX_MS,
        factor: 1,
        jitter: true,
        random,
      });
      const changed = (client: SentinelClient): void => this.#watch.soon(client);
      return new SentinelClient(
        { address: sentinel, tls: server.tls, backoff, changed },
        { primaryName: address.primaryName, timeoutMs },
      );
    });
    this.#watch = new PrimaryWatch(
      {
        ask: (sentinel) => sentinel.ask(),
        answered: (place) => this.#found(place),
        failed: (error) => this.#notFound(error),
        isTroubled: () => !this.#server.isReady,
        startBackoff: createBackoff({ initialMs, maxMs, factor: 1, jitter: true, random }),
        random,
      },
      this.#sentinels,
    );
  }

  /** Waits for a connection to the primary; with `maxElapsedMs` above 0 not longer than that. */
  async start(maxElapsedMs: number): Promise<void> {
    if (this.#isClosed) throw this.#stoppingError();
    try {
      const { text } = this.#address;
      await this.#startWait.wait(() => this.#watch.start(), { maxElapsedMs, text, reason: () => this.#trouble });
    } catch (error) {
      this.close();
      throw error;
    }
    for (const sentinel of this.#sentinels) sentinel.open();
  }

  close(): void {
    this.#isClosed = true;
    this.#watch.close();
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

  refused(server: KvstoreServer, refused: readonly RefusedChecks[], createdMs: number): void {
    // The connection closes after such a reply, so the checks wait for the next primary, within their
    // time.
    const batch = new CommandBatch(createdMs, this.#timeoutMs);
    for (const { checks } of refused) batch.adopt(checks);
    server.resend(batch);
    this.#watch.soon();
  }

  expiryMissing(server: KvstoreServer, expiry: KeyExpiry): void {
    server.sendExpiry(expiry);
  }

  serverReady(): void {
    this.#startWait.succeed();
  }

  serverLost(server: KvstoreServer): void {
    if (!server.isReady) this.#watch.soon();
  }

  serverFailed(server: KvstoreServer, cause: unknown): void {
    this.#trouble = connectionError(server.address.text, cause);
  }

  #found(place: PrimaryPlace): void {
    if (this.#areSentinelsSilent) this.#log.info("A sentinel answers again", { address: this.#address.text });
    this.#areSentinelsSilent = false;
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
    if (this.#areSentinelsSilent) return;
    this.#areSentinelsSilent = true;
    this.#log.warn("No sentinel names the primary, trying again", { address: this.#address.text, error });
  }
}

/** Stands for the primary until a sentinel has named it; nothing is dialled before. */
function unknownPrimary({ text }: SentinelAddress): KvstoreAddress {
  return { target: { kind: "tcp", host: "localhost", port: 0 }, isTls: false, auth: undefined, database: 0, text };
}
