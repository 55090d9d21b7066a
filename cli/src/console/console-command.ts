// The command `weir console`: serves the page on this machine until it is interrupted.
import { setInterval } from "node:timers/promises";

import { describeError, ServiceError } from "@weir/common/errors/service-error";

import { EXIT_OK, EXIT_USAGE } from "../command-line/exit-codes.ts";
import { printable } from "../command-line/printable.ts";
import {
  checkAccess,
  PROCESS,
  runInCluster,
  type RolloutContext,
  type RolloutEnvironment,
} from "../rollout/rollout-command.ts";
import { type ConsoleArguments, parseConsoleArguments } from "./arguments.ts";
import { ForwardedReplicas } from "./forwarded-replicas.ts";
import { LocalServer } from "./local-server.ts";
import { openBrowser } from "./open-browser.ts";

/** Runs the command with the arguments after its name; returns the exit code. */
export async function runConsole(
  context: RolloutContext,
  args: readonly string[],
  environment: RolloutEnvironment = PROCESS,
): Promise<number> {
  const parsed = parseConsoleArguments(args, context);
  const options = typeof parsed === "string" ? `${parsed}; see weir console --help` : checkAccess(parsed, context);
  if (typeof options === "string") {
    context.stderr(`weir console: ${options}\n`);
    return EXIT_USAGE;
  }
  const { replicas } = options;
  if (replicas === undefined) return await serve(context, options, environment);
  try {
    return await runInCluster(context, replicas, environment, (found) => serve(context, options, found));
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    context.stderr(`weir console: ${printable(describeError(error))}\n`);
    return EXIT_USAGE;
  }
}

async function serve(
  context: RolloutContext,
  { servers, access, opensBrowser }: ConsoleArguments,
  environment: RolloutEnvironment,
): Promise<number> {
  const { signal, env } = context;
  let removeFile = (): void => undefined;
  const replicas = new ForwardedReplicas(servers, access, { ...environment, env });
  const server = new LocalServer(replicas);
  try {
    const problem = await replicas.lookUp();
    if (problem !== undefined) {
      context.stderr(`weir console: ${printable(problem)}\n`);
      return EXIT_USAGE;
    }
    const url = await server.start();
    context.stdout(`The console is at ${url}\nCtrl-C ends it.\n`);
    if (opensBrowser) {
      const failed = (program: string): void =>
        context.stderr(`weir console: cannot start ${program}: open the URL in a browser\n`);
      removeFile = openBrowser(url, failed);
    }
    for await (const _ of setInterval(environment.lookupIntervalMs, undefined, { signal })) await replicas.lookUp();
    return EXIT_OK;
  } catch (error) {
    if (signal.aborted) return EXIT_OK; // The interval ends so.
    throw error;
  } finally {
    removeFile();
    replicas.close();
    await server.stop();
  }
}
