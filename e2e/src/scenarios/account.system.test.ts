// The account service as curl meets it: real program, real cookies in a real jar, real restart, also as the previous
// version (e2e/previous.json) and back.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BUILD_TIMEOUT_MS, buildPrevious } from "@weir/harness/weir/earlier-build";
import { anyPorts, type CommandResult, ROOT, runCommand, startPlanned } from "@weir/harness/processes/programs";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { SAMPLE_AVATAR } from "@weir/dev/output/guide";
import type { ProcessGroup } from "@weir/dev/processes/process-group";
import type { ProgramPlan } from "@weir/dev/setup/programs";
import { planPrograms } from "@weir/dev/setup/programs";

const EMAIL = "grace@example.com";
const PASSWORD = "nanoseconds of wire";

interface Answer {
  readonly status: number;
  readonly body: {
    readonly message?: string;
    readonly code?: string;
    readonly user?: { readonly email: string; readonly name: string; readonly avatar: string };
  };
}

describe("the account service under curl", () => {
  const folder = makeTemporaryFolder();
  const jar = join(folder.path, "cookies");
  let plan: ProgramPlan;
  let service: ProcessGroup;
  let base: string;

  beforeAll(async () => {
    writeFileSync(join(folder.path, "avatar.png"), SAMPLE_AVATAR);
    const ports = await anyPorts();
    const none = { cert: "", key: "" };
    const certificates = { ca: none, controlPlane: none, rateLimit: none, renewed: [] };
    const accountDirectory = join(folder.path, "account");
    const { account } = planPrograms({
      ports,
      certificates,
      sourceDirectory: folder.path,
      accountDirectory,
      machine: process.env,
    });
    plan = { ...account, env: { ...account.env, RATE_LIMIT_FAILURE: "open" } }; // No rate limit service runs.
    base = `http://localhost:${ports.accountHttp}/api/v1/user`;
    service = await startPlanned(plan);
  });

  afterAll(async () => {
    await service.stop("SIGTERM", 5000);
    folder.remove();
  });

  it("refuses to name the user without a login", async () => {
    expect(await curl(`${base}/current-user`)).toMatchObject({ status: 401, body: { code: "not_authenticated" } });
  });

  it("registers a person with an avatar, without logging them in", async () => {
    const answer = await curl(
      `${base}/register -F email=${EMAIL} -F 'password=${PASSWORD}' -F name=Grace -F avatar=@${folder.path}/avatar.png -c ${jar}`,
    );
    expect(answer).toMatchObject({ status: 201, body: { user: { email: EMAIL, name: "Grace" } } });
    expect(cookies()).toEqual([]);
    const avatar = await fetch(answer.body.user!.avatar);
    expect([avatar.status, avatar.headers.get("content-type")]).toEqual([200, "image/png"]);
  });

  it("refuses to register the same e-mail address again", async () => {
    const answer = await curl(
      `${base}/register -F email=${EMAIL} -F 'password=${PASSWORD}' -F avatar=@${folder.path}/avatar.png`,
    );
    expect(answer).toMatchObject({ status: 409, body: { code: "email_taken" } });
    expect(answer.body.message).not.toBe("");
  });

  it("refuses a wrong password", async () => {
    expect(await logIn("wrong horse battery")).toMatchObject({ status: 401, body: { code: "invalid_credentials" } });
  });

  it("logs in with three cookies that scripts cannot read, and knows the person by them", async () => {
    expect(await logIn(PASSWORD)).toMatchObject({ status: 200, body: { user: { email: EMAIL } } });
    expect(cookies()).toEqual([
      { name: "__Host-accessToken", isHttpOnly: true, isSecure: true, path: "/" },
      { name: "__Host-device", isHttpOnly: true, isSecure: true, path: "/" },
      { name: "__Host-refreshToken", isHttpOnly: true, isSecure: true, path: "/" },
    ]);
    expect(await curl(`${base}/current-user -b ${jar}`)).toMatchObject({
      status: 200,
      body: { user: { email: EMAIL, name: "Grace" } },
    });
  });

  it("gives a fresh access token for the refresh token", async () => {
    const before = readFileSync(jar, "utf8");
    expect(await curl(`-X POST ${base}/refresh-token -b ${jar} -c ${jar}`)).toMatchObject({ status: 200 });
    expect(readFileSync(jar, "utf8")).not.toBe(before);
    expect(await curl(`${base}/current-user -b ${jar}`)).toMatchObject({ status: 200 });
  });

  it("keeps accounts and sessions over a restart", async () => {
    await service.stop("SIGTERM", 5000);
    service = await startPlanned(plan);
    expect(await curl(`${base}/current-user -b ${jar}`)).toMatchObject({
      status: 200,
      body: { user: { email: EMAIL } },
    });
    expect(await logIn(PASSWORD)).toMatchObject({ status: 200 });
  });

  it("keeps accounts and sessions when it was killed", async () => {
    service.kill();
    await service.exited;
    service = await startPlanned(plan);
    expect(await curl(`${base}/current-user -b ${jar}`)).toMatchObject({
      status: 200,
      body: { user: { email: EMAIL } },
    });
  });

  it(
    "keeps accounts, sessions and avatars when the previous version takes over, and those of that one after it",
    async () => {
      const previous = await buildPrevious(process.env, "account");
      const earlier = { email: "ada@example.com", jar: join(folder.path, "earlier-cookies") };
      for (const root of [previous, ROOT]) {
        await service.stop("SIGTERM", 5000);
        service = await startPlanned(plan, root);
        for (const each of root === previous ? [{ email: EMAIL, jar }] : [{ email: EMAIL, jar }, earlier]) {
          const user = await curl(`${base}/current-user -b ${each.jar}`);
          expect(user).toMatchObject({ status: 200, body: { user: { email: each.email } } });
          expect((await fetch(user.body.user!.avatar)).status).toBe(200);
          expect(await curl(`-X POST ${base}/refresh-token -b ${each.jar} -c ${each.jar}`)).toMatchObject({
            status: 200,
          });
          expect(await curl(`${base}/current-user -b ${each.jar}`)).toMatchObject({ status: 200 });
          expect(await logIn(PASSWORD, each)).toMatchObject({ status: 200 });
        }
        if (root === ROOT) continue;
        const form = `-F email=${earlier.email} -F 'password=${PASSWORD}' -F avatar=@${folder.path}/avatar.png`;
        expect(await curl(`${base}/register ${form}`)).toMatchObject({ status: 201 });
        expect(await logIn(PASSWORD, earlier)).toMatchObject({ status: 200 });
      }
    },
    BUILD_TIMEOUT_MS,
  );

  it("ends the session at logout, for the old cookies too", async () => {
    const old = join(folder.path, "old-cookies");
    writeFileSync(old, readFileSync(jar));
    const headers = join(folder.path, "logout-headers");
    expect(await curl(`-X POST ${base}/logout -b ${jar} --dump-header ${headers}`)).toMatchObject({ status: 200 });
    // Read from the answer, as curl's jar keeps one of two cookies that are cleared by one answer.
    expect(
      readFileSync(headers, "utf8").match(/^set-cookie: __Host-(access|refresh)Token=; Max-Age=0;/gim),
    ).toHaveLength(2);
    expect(await curl(`${base}/current-user -b ${old}`)).toMatchObject({ status: 401 });
    expect(await curl(`-X POST ${base}/refresh-token -b ${old}`)).toMatchObject({ status: 401 });
  });

  function logIn(password: string, as = { email: EMAIL, jar }): Promise<Answer> {
    const body = JSON.stringify({ email: as.email, password });
    return curl(`${base}/login -c ${as.jar} -H 'content-type: application/json' -d '${body}'`);
  }

  async function curl(args: string): Promise<Answer> {
    const result: CommandResult = await runCommand(`curl --silent --show-error --write-out '\\n%{http_code}' ${args}`, {
      cwd: ROOT,
    });
    expect(result.stderr).toBe("");
    const end = result.stdout.lastIndexOf("\n");
    return {
      status: Number(result.stdout.slice(end + 1)),
      body: JSON.parse(result.stdout.slice(0, end)) as Answer["body"],
    };
  }

  // curl's jar: seven fields by tabs; "#HttpOnly_" before the domain marks such cookies, other
  // lines with # are comments.
  function cookies(): { name: string; isHttpOnly: boolean; isSecure: boolean; path: string }[] {
    return readFileSync(jar, "utf8")
      .split("\n")
      .map((line) => line.split("\t"))
      .filter((fields) => fields.length === 7)
      .map(([domain, , path, secure, , name]) => ({
        name: name!,
        isHttpOnly: domain!.startsWith("#HttpOnly_"),
        isSecure: secure === "TRUE",
        path: path!,
      }))
      .toSorted((a, b) => a.name.localeCompare(b.name));
  }
});
