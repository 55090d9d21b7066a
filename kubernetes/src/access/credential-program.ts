// Runs the program that a kubeconfig names for credentials, as kubectl does
// (client.authentication.k8s.io). @kubernetes/client-node has no time limit for such a program.
import { execFile, type ExecException } from "node:child_process";

import { errorCode } from "@weir/common/errors/error-code";
import { describeError } from "@weir/common/errors/service-error";

import { fieldsOf, type Mapping, textOf } from "../mapping.ts";

/** Largest output of a program, in bytes: a token, a certificate and a key are far below. */
const OUTPUT_MAX_BYTES = 1024 * 1024;

/** Longest text of a program that an error quotes, in characters. */
const QUOTE_MAX_LENGTH = 500;

/**
 * Longest wait for the rest of the output after a program has ended, in milliseconds: a program that
 * it started, such as a browser, may keep the output open.
 */
const OUTPUT_GRACE_MS = 1000;

/** The program of a kubeconfig user. */
export interface CredentialProgram {
  readonly command: string;
  readonly args: readonly string[];
  /** Added to the environment of this process. */
  readonly env: Readonly<Record<string, string>>;
  readonly apiVersion: string;
  /** The cluster as the program receives it; undefined when it did not ask for it. */
  readonly cluster: Mapping | undefined;
  /** How to install the program, for people; empty when the kubeconfig does not say. */
  readonly installHint: string;
}

/** The credentials that a program returned. */
export interface ProgramCredential {
  readonly token: string | undefined;
  /** Certificate and key of the client, PEM. */
  readonly cert: string | undefined;
  readonly key: string | undefined;
  /** Milliseconds since the epoch; undefined when the credentials do not expire. */
  readonly expiresMs: number | undefined;
}

/** Runs the program once, and kills it with SIGKILL when it has not ended after `timeoutMs`. */
export async function runCredentialProgram(
  program: CredentialProgram,
  { timeoutMs }: { readonly timeoutMs: number },
): Promise<ProgramCredential> {
  const spec = { cluster: program.cluster, interactive: false };
  const info = JSON.stringify({ kind: "ExecCredential", apiVersion: program.apiVersion, spec });
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const child = execFile(
    program.command,
    program.args,
    {
      // eslint-disable-next-line no-restricted-syntax -- the environment is not read here: the program finds its own settings in it, whatever they are
      env: { ...process.env, ...program.env, KUBERNETES_EXEC_INFO: info },
      timeout: timeoutMs,
      killSignal: "SIGKILL",
      maxBuffer: OUTPUT_MAX_BYTES,
    },
    (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(programError(program, `${reasonOf(error, program, timeoutMs)}${quoted(stderr)}`));
    },
  );
  const killWithUs = (): void => void child.kill("SIGKILL");
  process.once("exit", killWithUs);
  child.stdin?.end();
  child.on("exit", () => {
    process.removeListener("exit", killWithUs);
    setTimeout(() => [child.stdout, child.stderr].forEach((output) => output?.destroy()), OUTPUT_GRACE_MS).unref();
  });
  const credential = readCredential(await promise);
  if (credential !== undefined) return credential;
  throw programError(program, "answered no ExecCredential with a token, or a certificate and its key");
}

function programError({ command }: CredentialProgram, reason: string): Error {
  return new Error(`the program ${command} of the kubeconfig ${reason}`);
}

function reasonOf(error: ExecException, { installHint }: CredentialProgram, timeoutMs: number): string {
  if (error.code === "ERR_CHILD_PROCESS_STDIO_MAXBUFFER")
    return `wrote more than ${OUTPUT_MAX_BYTES} bytes and was killed`;
  if (error.killed === true) return `did not answer within ${timeoutMs / 1000} s and was killed`;
  // A code that is a text is that of the system call that could not start the program.
  if (typeof error.code !== "string") return `ended with ${error.signal ?? error.code}`;
  const reason = errorCode(error) === "ENOENT" ? "it does not exist" : describeError(error);
  return `cannot be run: ${reason}${installHint === "" ? "" : `; ${installHint}`}`;
}

function quoted(text: string): string {
  const said = text.trim().replaceAll(/\s+/g, " ");
  return said === "" ? "" : `: ${said.slice(0, QUOTE_MAX_LENGTH)}`;
}

/**
 * undefined when the text is no credential, or an empty one: without credentials the requests would
 * be those of an anonymous user.
 */
function readCredential(text: string): ProgramCredential | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined; // The text may hold a secret, so that no error quotes it.
  }
  const status = fieldsOf(fieldsOf(value)["status"]);
  const [token, cert, key, expires] = [
    status["token"],
    status["clientCertificateData"],
    status["clientKeyData"],
    status["expirationTimestamp"],
  ].map(textOf);
  if (token === undefined && (cert === undefined || key === undefined)) return undefined;
  return { token, cert, key, expiresMs: expires === undefined ? undefined : Date.parse(expires) };
}
