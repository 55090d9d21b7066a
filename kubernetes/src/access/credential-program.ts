// Runs the program that a kubeconfig names for credentials, as kubectl does
// (client.authentication.k8s.io). Not @kubernetes/client-node, which waits for ever for a program
// that hangs. When to run it, and how long its answer is good for, is for who asks.
import { type ChildProcess, spawn } from "node:child_process";
import type { Readable } from "node:stream";

import { errorCode } from "@weir/common/errors/error-code";
import { describeError } from "@weir/common/errors/service-error";

/** Longest answer that is read, in characters: a token, a certificate and a key are far below. */
const OUTPUT_MAX_LENGTH = 1024 * 1024;

/** Longest text of a program that is quoted, in characters. */
const QUOTE_MAX_LENGTH = 500;

/**
 * How long after its end the rest of what a program complains is awaited, in milliseconds: what it
 * has started, such as a browser, may hold that open.
 */
const COMPLAINT_GRACE_MS = 1000;

/** What a kubeconfig says about the program. */
export interface CredentialProgram {
  readonly command: string;
  readonly args: readonly string[];
  /** Added to the environment of this process. */
  readonly env: Readonly<Record<string, string>>;
  readonly apiVersion: string;
  /** What the program is told of the cluster; undefined when it did not ask for it. */
  readonly cluster: Readonly<Record<string, unknown>> | undefined;
  /** How to get the program, for people; empty when nothing is said. */
  readonly installHint: string;
}

/** What the program answered. */
export interface ProgramCredential {
  readonly token: string | undefined;
  /** Certificate and key of the client, PEM. */
  readonly cert: string | undefined;
  readonly key: string | undefined;
  /** Milliseconds since the epoch; undefined when they do not end. */
  readonly expiresMs: number | undefined;
}

/**
 * Runs the program once. One that has not answered in time is killed, with all that it has started.
 */
export async function runCredentialProgram(
  program: CredentialProgram,
  options: { readonly timeoutMs: number },
): Promise<ProgramCredential> {
  const { command } = program;
  const info = {
    kind: "ExecCredential",
    apiVersion: program.apiVersion,
    spec: { cluster: program.cluster, interactive: false },
  };
  const child = spawn(command, program.args, {
    // eslint-disable-next-line no-restricted-syntax -- the environment is not read here: the program finds its own settings in it, whatever they are
    env: { ...process.env, ...program.env, KUBERNETES_EXEC_INFO: JSON.stringify(info) },
    stdio: ["ignore", "pipe", "pipe"],
    // A group of its own, so that what it starts ends with it.
    detached: true,
  });
  const { promise, resolve, reject } = Promise.withResolvers<ProgramCredential>();
  const fail = (reason: string): void => reject(new Error(`the program ${command} of the kubeconfig ${reason}`));
  child.on("error", (cause) =>
    fail(`cannot be run: ${reasonOf(cause)}${program.installHint === "" ? "" : `; ${program.installHint}`}`),
  );
  const end = (reason: string): void => {
    fail(reason);
    killAll(child);
  };
  const stdout = collect(child.stdout, () => end(`answered more than ${OUTPUT_MAX_LENGTH} characters and was killed`));
  const stderr = collect(child.stderr, () => undefined);
  const timer = setTimeout(
    () => end(`did not answer within ${options.timeoutMs / 1000} s and was killed${quoted(stderr())}`),
    options.timeoutMs,
  );
  let grace: NodeJS.Timeout | undefined;
  // Where this process ends first, it is not left behind.
  const killWithUs = (): void => killAll(child);
  process.once("exit", killWithUs);
  child.on("exit", () => {
    grace = setTimeout(() => child.stderr.destroy(), COMPLAINT_GRACE_MS);
  });
  child.on("close", (code, signal) => {
    if (code !== 0) fail(`ended with ${signal ?? code}${quoted(stderr())}`);
    const credential = readCredential(stdout());
    if (credential === undefined) fail("answered no ExecCredential with a token, or a certificate and its key");
    else resolve(credential);
  });
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    clearTimeout(grace);
    process.off("exit", killWithUs);
  }
}

/**
 * Kills the program and its group, and lets go of its output, which somebody outside of the group
 * may hold open.
 */
function killAll(child: ChildProcess): void {
  if (child.pid !== undefined) {
    try {
      process.kill(-child.pid, "SIGKILL");
    } catch (cause) {
      // All of them have ended by themselves, or it runs as somebody else and has to be left alone.
      if (errorCode(cause) === undefined) throw cause;
    }
  }
  child.stdout?.destroy();
  child.stderr?.destroy();
}

/**
 * Gives what has come so far; says when it was too much, and keeps no more than that. There is no
 * stream when there was no file descriptor for it.
 */
function collect(stream: Readable | undefined, tooMuch: () => void): () => string {
  let text = "";
  stream?.setEncoding("utf8").on("data", (chunk: string) => {
    if (text.length > OUTPUT_MAX_LENGTH) return;
    text += chunk;
    if (text.length > OUTPUT_MAX_LENGTH) tooMuch();
  });
  return () => text;
}

function quoted(text: string): string {
  const said = text.trim().replaceAll(/\s+/g, " ");
  return said === "" ? "" : `: ${said.slice(0, QUOTE_MAX_LENGTH)}`;
}

function reasonOf(cause: Error): string {
  return errorCode(cause) === "ENOENT" ? "it is not there" : describeError(cause);
}

/**
 * undefined when the text is something else, or proves nobody: without credentials the requests
 * would be those of an anonymous user.
 */
function readCredential(text: string): ProgramCredential | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined; // What it is instead may hold a secret, and is not told.
  }
  const status = fieldsOf(fieldsOf(value)?.["status"]);
  if (status === undefined) return undefined;
  const [token, cert, key] = ["token", "clientCertificateData", "clientKeyData"].map((name) => textOf(status[name]));
  if (token === undefined && (cert === undefined || key === undefined)) return undefined;
  const expires = textOf(status["expirationTimestamp"]);
  return {
    token,
    cert,
    key,
    expiresMs: expires === undefined ? undefined : Date.parse(expires),
  };
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : undefined;
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
