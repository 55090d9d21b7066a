// Tests of credential-program.ts with real programs.
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

import { eventually } from "@weir/harness/processes/eventually";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { type CredentialProgram, type ProgramCredential, runCredentialProgram } from "./credential-program.ts";

const WITHOUT_CREDENTIALS =
  "the program sh of the kubeconfig answered no ExecCredential with a token, or a certificate and its key";

/** Longer than any test lasts, in milliseconds. */
const NEVER_MS = 600_000;

/** Runs a program in a process that has no file descriptor left. */
const RUN_WITHOUT_DESCRIPTORS = `
import { openSync } from "node:fs";
const { runCredentialProgram } = await import(${JSON.stringify(join(import.meta.dirname, "credential-program.ts"))});
try {
  for (;;) openSync("/dev/null");
} catch {}
const program = { command: "true", args: [], env: {}, apiVersion: "", installHint: "" };
await runCredentialProgram(program, { timeoutMs: 60_000 }).catch((error) => console.log(error.message));
`;

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "weir-program-"));
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

function run(
  script: string,
  timeoutMs = NEVER_MS,
  difference: Partial<CredentialProgram> = {},
): Promise<ProgramCredential> {
  const apiVersion = "client.authentication.k8s.io/v1";
  const program = {
    command: "sh",
    args: ["-c", script],
    env: { FOLDER: folder },
    apiVersion,
    cluster: undefined,
    installHint: "",
    ...difference,
  };
  return runCredentialProgram(program, { timeoutMs });
}

function answering(status: object): string {
  return `echo '${JSON.stringify({ apiVersion: "client.authentication.k8s.io/v1", kind: "ExecCredential", status })}'`;
}

function isRunning(pid: number): boolean {
  try {
    // A zombie remains until its parent reads its exit status.
    return !/^State:\tZ/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

describe("runCredentialProgram()", () => {
  it("returns the answer of the program", async () => {
    const status = {
      token: "made",
      clientCertificateData: "certificate",
      clientKeyData: "key",
      expirationTimestamp: "2026-11-21T12:00:00Z",
    };
    expect(await run(answering(status))).toEqual({
      token: "made",
      cert: "certificate",
      key: "key",
      expiresMs: Date.UTC(2026, 10, 21, 12),
    });
    expect(await run(answering({ token: "made" }))).toEqual({
      token: "made",
      cert: undefined,
      key: undefined,
      expiresMs: undefined,
    });
  });

  it("passes the version and that no person can answer to the program, and adds the variables to the environment", async () => {
    await run(
      `printf '%s\\n' "$KUBERNETES_EXEC_INFO" "$EXTRA" "$PATH" > "$FOLDER/env"; ${answering({ token: "made" })}`,
      NEVER_MS,
      {
        env: { FOLDER: folder, EXTRA: "more" },
      },
    );
    expect(readFileSync(join(folder, "env"), "utf8").split("\n")).toEqual([
      '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","spec":{"interactive":false}}',
      "more",
      process.env["PATH"],
      "",
    ]);
  });

  it("kills a program that hangs, also when another program keeps its output open, and reports why", async () => {
    // The other program ends by itself when the folder of the test is removed.
    const hanging = run(
      'echo log in first >&2; (while [ -d "$FOLDER" ]; do sleep 0.05; done) & trap "" TERM; echo $$ > "$FOLDER/pid"; while :; do sleep 0.05; done',
      2000,
    );
    await expect(hanging).rejects.toThrow(
      new Error("the program sh of the kubeconfig did not answer within 2 s and was killed: log in first"),
    );
    const pid = Number(readFileSync(join(folder, "pid"), "utf8"));
    await eventually("its end", () => expect(isRunning(pid)).toBe(false));
  });

  it("kills a program that does not stop writing", async () => {
    await expect(run('echo $$ > "$FOLDER/pid"; yes')).rejects.toThrow("wrote more than 1048576 bytes and was killed");
    const pid = Number(readFileSync(join(folder, "pid"), "utf8"));
    await eventually("its end", () => expect(isRunning(pid)).toBe(false));
  });

  it.each([
    { script: "echo log in first >&2; exit 3", message: "the program sh of the kubeconfig ended with 3: log in first" },
    { script: "kill -9 $$", message: "the program sh of the kubeconfig ended with SIGKILL" },
    { script: "echo secret", message: WITHOUT_CREDENTIALS },
    { script: "echo '{}'", message: WITHOUT_CREDENTIALS },
    { script: answering({}), message: WITHOUT_CREDENTIALS },
    { script: answering({ clientCertificateData: "certificate" }), message: WITHOUT_CREDENTIALS },
  ])("fails with the reason when the script is: $script", async ({ script, message }) => {
    await expect(run(script)).rejects.toThrow(new Error(message));
  });

  it("does not wait for another program that keeps its output open, such as a browser", async () => {
    await run(`sleep 600 & echo $! > "$FOLDER/pid"; ${answering({ token: "made" })}`);
    const pid = Number(readFileSync(join(folder, "pid"), "utf8"));
    expect(isRunning(pid)).toBe(true);
    process.kill(pid, "SIGKILL");
  });

  it("fails when no file descriptor is left, and the process continues", async () => {
    const { stdout } = await promisify(execFile)("sh", [
      "-c",
      'ulimit -n 64; exec "$0" --conditions=source --input-type=module --eval "$1"',
      process.execPath,
      RUN_WITHOUT_DESCRIPTORS,
    ]);
    expect(stdout).toBe("the program true of the kubeconfig cannot be run: spawn true EMFILE\n");
  });

  it("reports how to install a program that does not exist", async () => {
    const missing = { command: join(folder, "missing"), installHint: "see example.org" };
    await expect(run("", NEVER_MS, missing)).rejects.toThrow(
      new Error(`the program ${missing.command} of the kubeconfig cannot be run: it does not exist; see example.org`),
    );
    expect(existsSync(missing.command)).toBe(false);
  });
});
