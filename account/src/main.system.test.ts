// The program as an operator runs it (docs/account.md): a process with an environment, signals, and a sudden end.
import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { eventually } from "@weir/harness/processes/eventually";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { png } from "./media/sample-images.suite.ts";
import type { Program } from "@weir/harness/processes/start-process";
import { metricsOf, Programs, ready } from "./program.suite.ts";
import { formBody } from "./running-service.suite.ts";

let programs: Programs;

beforeEach(() => {
  programs = new Programs();
});

afterEach(() => programs.stop());

function run(env: Readonly<Record<string, string>>, args: readonly string[] = []): Program {
  return programs.start(env, { args });
}

function register(url: string, email: string): Promise<Response> {
  const body = formBody([
    { name: "email", value: email },
    { name: "password", value: "correct horse battery" },
    { name: "avatar", value: png(), fileName: "a.png" },
  ]);
  const headers = { "Content-Type": "multipart/form-data; boundary=WeirTestBoundary" };
  return fetch(`${url}/api/v1/user/register`, { method: "POST", headers, body: new Uint8Array(body) });
}

function login(url: string, email: string): Promise<Response> {
  const body = JSON.stringify({ email, password: "correct horse battery" });
  return fetch(`${url}/api/v1/user/login`, { method: "POST", headers: { "Content-Type": "application/json" }, body });
}

describe("weir-account", () => {
  it("keeps every account it confirmed, and its sessions, when it is killed in the middle of registrations", async () => {
    const first = run({});
    const url = await ready(first);
    const confirmed: string[] = [];
    const registerOn = async (worker: number): Promise<void> => {
      for (let count = 0; ; count++) {
        const email = `user-${worker}-${count}@x.com`;
        try {
          if ((await register(url, email)).status === 201) confirmed.push(email);
        } catch {
          return; // Killed: what was not confirmed may be missing.
        }
      }
    };
    await register(url, "session@x.com");
    const cookie = (await login(url, "session@x.com")).headers
      .getSetCookie()
      .map((line) => line.split(";")[0])
      .join("; ");
    const workers = [0, 1, 2, 3].map(registerOn);
    await eventually("twenty registrations", () => expect(confirmed.length).toBeGreaterThanOrEqual(20));
    first.signal("SIGKILL");
    await Promise.all(workers);
    const again = await ready(run({}));
    for (const email of confirmed) expect((await login(again, email)).status).toBe(200);
    const me = await fetch(`${again}/api/v1/user/current-user`, { headers: { Cookie: cookie } });
    expect(me.status).toBe(200);
  });

  it("finishes what runs at SIGTERM, refuses the rest, and exits with 0", async () => {
    const program = run({ BCRYPT_COST: "12", BCRYPT_CONCURRENCY: "1", SHUTDOWN_DRAIN: "8s", SHUTDOWN_GRACE: "60s" });
    const url = await ready(program);
    // So long that the queue is seen, and so few that none waits for its hash longer than one may, which is
    // three seconds.
    const running = Array.from({ length: 3 }, (_, index) => register(url, `user-${index}@x.com`));
    while (!/^bcrypt_queue_depth [1-9]/m.test(await text(metricsOf(program)))) await sleep(5);
    program.signal("SIGTERM");
    // Within the drain; the signal may arrive after the next question.
    while ((await fetch(`${url}/readyz`)).status !== 503) await sleep(5);
    expect((await Promise.all(running)).map(({ status }) => status)).toEqual(Array.from({ length: 3 }, () => 201));
    // Below the grace period: kept connections that are quiet must not hold the stop up.
    expect(await Promise.race([program.code, sleep(40_000, "still running")])).toBe(0);
    await expect(fetch(`${url}/healthz`)).rejects.toThrow();
  });

  it("leaves no image process behind when it is killed", async () => {
    const program = run({});
    await ready(program);
    const children = childrenOf(program.child.pid);
    expect(children).toHaveLength(1);
    program.signal("SIGKILL");
    await eventually("the end of the image process", () => expect(children.filter(isAlive)).toEqual([]));
  });

  it("removes at its start the image of an intent only, lists others on command, and removes them when told", async () => {
    const program = run({});
    const url = await ready(program);
    await register(url, "a@x.com");
    const leftOver = (): { readonly key: string; readonly folder: string } => {
      const key = `avatars/${randomUUID()}/${"ab".repeat(16)}.png`;
      const file = join(programs.folder, "media", key);
      mkdirSync(dirname(file), { recursive: true });
      for (const name of [file, `${file}.0123456789ab.partial`]) {
        writeFileSync(name, "left over");
        utimesSync(name, 0, 0);
      }
      return { key, folder: dirname(file) };
    };
    const [intended, unknown] = [leftOver(), leftOver()];
    program.signal("SIGTERM");
    await program.code;
    const database = new DatabaseSync(join(programs.folder, "accounts.sqlite"));
    database.prepare("INSERT INTO media_intents VALUES (?, 'x', 0)").run(intended.key);
    database.close();
    const again = run({});
    const address = await ready(again);
    await eventually("the clean-up", async () =>
      expect(await text(metricsOf(again))).toContain('media_orphans_total{result="removed"} 1'),
    );
    expect(existsSync(intended.folder)).toBe(false);
    const list = run({}, ["sweep"]);
    expect(await list.code).toBe(0);
    expect(list.text().replaceAll(/\d+ d/g, "N d").split("\n").slice(0, 3)).toEqual([
      `1970-01-01T00:00:00.000Z  N d  ${unknown.key}`,
      `1970-01-01T00:00:00.000Z  N d  ${unknown.key}`,
      "Looked at 3 objects, 2 of them without an account",
    ]);
    expect(list.text()).toContain("Images of another installation on the same bucket look the same");
    expect(existsSync(unknown.folder)).toBe(true);
    const sweep = run({}, ["sweep", "--delete"]);
    expect([await sweep.code, sweep.text()]).toEqual([0, expect.stringContaining("without an account; removed 2\n")]);
    expect(existsSync(unknown.folder)).toBe(false);
    expect((await login(address, "a@x.com")).status).toBe(200);
    const elsewhere = run({ DATA_DIR: join(programs.folder, "elsewhere") }, ["sweep"]);
    expect([await elsewhere.code, elsewhere.text()]).toEqual([1, expect.stringContaining("accounts.sqlite")]);
  });

  it("warns of variables without effect", async () => {
    const program = run({ AVATAR_MAX_BYTE: "1", MONGODB_URI: "mongodb://u:pa55word@h" });
    await ready(program);
    expect(program.text()).toContain('name=AVATAR_MAX_BYTE reason="unknown setting; is AVATAR_MAX_BYTES meant?"');
    expect(program.text()).toContain('name=MONGODB_URI reason="it belongs to STORE=mongo, and STORE is embedded"');
    expect(program.text()).not.toContain("pa55word");
  });

  it("names a port in use and the setting that moves it", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as AddressInfo;
    const program = run({ PORT: String(port) });
    expect(await program.code).toBe(1);
    expect(program.text()).toContain(
      `Cannot listen for HTTP on 127.0.0.1:${port}: the port is in use; set PORT to another one`,
    );
    other.close();
  });

  it("names a data directory it cannot have", async () => {
    const file = join(programs.folder, "file");
    writeFileSync(file, "");
    const program = run({ DATA_DIR: join(file, "data") });
    expect(await program.code).toBe(1);
    expect(program.text()).toContain(`Cannot use DATA_DIR ${join(file, "data")}`);
  });

  it("ends when it cannot create its data directory", async () => {
    const program = run({ DATA_DIR: "/proc/weir/data" });
    expect(await program.code).toBe(1);
    expect(program.text()).toContain(
      "Cannot use DATA_DIR /proc/weir/data: Cannot make the folder /proc/weir: no folder can be made in /proc",
    );
  });

  it("does not start on a data directory that another process has, until that is killed", async () => {
    const first = run({});
    await ready(first);
    const second = run({});
    expect(await second.code).toBe(1);
    expect(second.text()).toContain(`Cannot use DATA_DIR ${programs.folder}: another process has it`);
    first.signal("SIGKILL");
    await first.code;
    await ready(run({}));
  });

  it("is not ready while it cannot write, keeps serving reads, and recovers", async () => {
    const program = run({});
    const url = await ready(program);
    await register(url, "a@x.com");
    const cookie = (await login(url, "a@x.com")).headers
      .getSetCookie()
      .map((line) => line.split(";")[0])
      .join("; ");
    // As on a full disk: no file of the process may grow.
    limitFileSize(program, "1");
    expect((await login(url, "a@x.com")).status).toBe(503);
    await eventually("not to be ready", async () => expect((await fetch(`${url}/readyz`)).status).toBe(503));
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    const me = await fetch(`${url}/api/v1/user/current-user`, { headers: { Cookie: cookie } });
    expect(me.status).toBe(200);
    limitFileSize(program, "unlimited");
    await eventually("to be ready again", async () => expect((await fetch(`${url}/readyz`)).status).toBe(200));
    expect((await login(url, "a@x.com")).status).toBe(200);
    await eventually("ten seconds without a failure", async () => {
      await fetch(`${url}/readyz`);
      expect(program.text()).toContain("The user store works again");
    });
  });

  it("backs up the accounts of a running service to a file from which another one starts", async () => {
    const url = await ready(run({}));
    await register(url, "a@x.com");
    const copies = join(programs.folder, "copies");
    mkdirSync(copies);
    const file = join(copies, "accounts.sqlite");
    const backup = run({}, ["backup", file]);
    expect([await backup.code, backup.text()]).toEqual([0, `Backed up 1 accounts to ${file}\n`]);
    const again = run({}, ["backup", file]);
    expect(await again.code).toBe(1);
    expect(again.text()).toContain(`to ${file}: the file exists; name another one`);
    expect((await login(await ready(run({ DATA_DIR: copies })), "a@x.com")).status).toBe(200);
  });

  it("refuses arguments it does not know with exit code 2", async () => {
    const program = run({}, ["backup"]);
    expect(await program.code).toBe(2);
    expect(program.text()).toBe(
      "weir-account: Cannot read the arguments: backup takes one argument, the file to write, and got 0\n",
    );
  });

  it("keeps the secrets it makes for its owner only", async () => {
    await ready(run({}));
    for (const name of ["token-keys.json", "account-label-secret", "accounts.sqlite"])
      expect([name, statSync(join(programs.folder, name)).mode & 0o777]).toEqual([name, 0o600]);
  });
});

/** The processes that the process has started. */
function childrenOf(pid: number | undefined): readonly number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").filter(Boolean).map(Number);
}

function isAlive(pid: number): boolean {
  return existsSync(`/proc/${pid}`) && !readFileSync(`/proc/${pid}/stat`, "latin1").includes(") Z ");
}

/** Limits how large any file of the process may become, in bytes (setrlimit(2), RLIMIT_FSIZE). */
function limitFileSize({ child }: Program, limit: string): void {
  execFileSync("prlimit", [`--pid=${child.pid}`, `--fsize=${limit}:unlimited`]);
}

async function text(url: string): Promise<string> {
  return (await fetch(url)).text();
}
