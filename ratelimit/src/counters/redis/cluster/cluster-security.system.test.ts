// A real cluster that wants a password, TLS, or both with client certificates: they apply to the
// configured node and for all that are learnt from it.
import { Secret } from "@weir/common/settings/secret";
import { until } from "@weir/harness/processes/eventually";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { clientMaterial, writeCertificates } from "@weir/harness/servers/certificate-files";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { check, count, describeCounter } from "../../counter.suite.ts";
import { addUser, expectNoLoss, MountedCredentials } from "../credentials-change.suite.ts";
import { DEADLINE_MS, PATIENT, SHORT_START, TestedCounters } from "../redis-counter.suite.ts";
import type { RedisTlsOptions } from "../options.ts";
import { createClusterDeployment } from "./cluster-deployment.ts";
import { type ClusterServers, startCluster } from "./cluster-servers.suite.ts";
import { hashSlot } from "./hash-slot.ts";

/** The suffix that the checks of `check()` append to a key. */
const SUFFIX = "_4000000200";

const PASSWORD = "pass@word";

const counters = new TestedCounters(createClusterDeployment, PATIENT);

/** Counters that the suite stops. */
const suiteCounters = new TestedCounters(createClusterDeployment, PATIENT);

let locked: ClusterServers;
let encrypted: ClusterServers;
let tls: RedisTlsOptions;
const folder = makeTemporaryFolder();

beforeAll(async () => {
  const files = await writeCertificates(folder.path);
  const client = clientMaterial(files);
  tls = { material: () => client, skipHostnameVerification: false };
  [locked, encrypted] = await Promise.all([
    startCluster({ password: PASSWORD }),
    startCluster({ password: PASSWORD, tls: files }),
  ]);
});
afterEach(() => counters.stop());
afterAll(async () => {
  await Promise.all([locked.close(), encrypted.close()]);
  folder.remove();
});

describeCounter("Redis cluster with a password and TLS with client certificates", () => {
  const { counter } = suiteCounters.create(encrypted.node(2).server.address, {
    server: { auth: new Secret(PASSWORD), tls },
  });
  return Promise.resolve({ counter, close: () => Promise.resolve() });
});

describe("start() with credentials of a cluster", () => {
  it.each([
    { how: "a password", url: (address: string) => address, auth: PASSWORD },
    { how: "a user and a password", url: (address: string) => address, auth: `default:${PASSWORD}` },
    {
      how: "a URL with a password",
      url: (address: string) => `redis://:${encodeURIComponent(PASSWORD)}@${address}`,
      auth: undefined,
    },
  ])("case 120: start() succeeds on all nodes when given $how", async ({ how, url, auth }) => {
    const { counter, active } = await counters.start(url(locked.node(0).server.address), {
      server: { auth: auth === undefined ? undefined : new Secret(auth) },
    });
    const names = [0, 1, 2].map((index) => locked.keyOn(index, how, SUFFIX));
    expect(await count(counter, ...names.map((name) => check(name)))).toEqual([1, 1, 1]);
    await until(() => active.at(-1) === 3, DEADLINE_MS, "a connection to each node works");
  });

  it("moves all connections to the new user without losing a call when the file changes", async () => {
    const admins = locked.nodes.map(({ client }) => client);
    await addUser(admins, "first", "pass:one");
    const credentials = new MountedCredentials("first:pass:one");
    const { counter } = await counters.start(locked.url, { server: { auth: credentials.secret } });
    await expectNoLoss(counter, { admins, credentials });
    credentials.close();
  });

  it.each([
    { how: "none", auth: undefined, text: "NOAUTH Authentication required." },
    { how: "a wrong password", auth: "wrong", text: "WRONGPASS invalid username-password pair or user is disabled." },
  ])("case 120: start() fails with '$text' when given $how", async ({ auth, text }) => {
    const address = locked.node(0).server.address;
    const { counter } = counters.create(address, {
      server: { auth: auth === undefined ? undefined : new Secret(auth) },
      options: SHORT_START,
    });
    await expect(counter.start?.()).rejects.toMatchObject({
      code: "STORE_UNAVAILABLE",
      message: `Timed out waiting for the counter store ${address} after ${SHORT_START.startup.maxElapsedMs} ms: Cannot reach the counter store ${address}: ${text}`,
    });
  });
});

describe("start() of a cluster over TLS", () => {
  const auth = new Secret(PASSWORD);

  it("count() follows a slot that moves between nodes with TLS", async () => {
    const { counter } = await counters.start(encrypted.url, { server: { auth, tls } });
    const name = encrypted.keyOn(0, "tls-moved", SUFFIX);
    const slot = hashSlot(`${name}${SUFFIX}`);
    expect(await count(counter, check(name))).toEqual([1]);
    await encrypted.beginMove(slot, encrypted.node(0), encrypted.node(1));
    await encrypted.moveKeys(slot, encrypted.node(0), encrypted.node(1));
    expect(await count(counter, check(name))).toEqual([2]); // By ASK.
    await encrypted.endMove(slot, encrypted.node(1));
    expect(await count(counter, check(name))).toEqual([3]); // By MOVED.
  });

  it("start() succeeds when the URLs ask for TLS and the files are set", async () => {
    const url = encrypted.nodes
      .map(({ server }) => `rediss://:${encodeURIComponent(PASSWORD)}@${server.address}`)
      .join(",");
    const { counter } = await counters.start(url, { server: { tls } });
    expect(await count(counter, check(encrypted.keyOn(1, "rediss", SUFFIX)))).toEqual([1]);
  });

  it("start() fails when the nodes want a certificate of the client, when their chain is not trusted, and when they are asked in the clear", async () => {
    const { ca } = tls.material();
    const without = ca === undefined ? {} : { ca };
    for (const choice of [
      { material: () => without, skipHostnameVerification: true },
      { material: () => ({}), skipHostnameVerification: true },
      undefined,
    ]) {
      const { counter } = counters.create(encrypted.url, { server: { auth, tls: choice }, options: SHORT_START });
      await expect(counter.start?.()).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    }
  });
});
