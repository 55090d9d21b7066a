// A go-control-plane server with mutual TLS: what Envoy Gateway's discovery server for rate limit pods consists of.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { eventually } from "../processes/eventually.ts";
import { ROOT, runCommand } from "../processes/programs.ts";

/** A line that the server writes. */
interface ServerEvent {
  readonly event: string;
  readonly port?: number;
  readonly node?: string;
  readonly version?: string;
  readonly error?: string;
}

/** A running server. */
export interface GoControlPlane {
  readonly port: number;
  /** Publishes configurations for a node; resolves when the node has ACKed them, throws when it NACKs. */
  publish(node: string, version: string, resources: readonly unknown[]): Promise<void>;
  stop(): Promise<void>;
}

/** Starts the server with the files of a Kubernetes Secret; it asks its clients for a certificate. */
export async function startGoControlPlane(
  folder: string,
  secret: Readonly<Record<string, string>>,
  host: string,
): Promise<GoControlPlane> {
  const built = await runCommand(`sh tools/build-oracle.sh ratelimit/oracle/ads-server`, { cwd: ROOT });
  if (built.code !== 0) throw new Error(`Cannot start go-control-plane: ${built.stderr}`);
  for (const [name, pem] of Object.entries(secret)) writeFileSync(join(folder, name), pem);
  const [cert, key, ca] = ["tls.crt", "tls.key", "ca.crt"].map((name) => join(folder, name));
  const flags = [`-address=${host}:0`, `-cert=${cert}`, `-key=${key}`, `-client-ca=${ca}`];
  const server = spawn(join(built.stdout.trim()), flags, { stdio: ["pipe", "pipe", "inherit"] });
  const events: ServerEvent[] = [];
  createInterface(server.stdout).on("line", (line) => events.push(JSON.parse(line) as ServerEvent));
  const port = await eventually("go-control-plane to listen", () => {
    const listening = events.find(({ event }) => event === "listening");
    if (listening?.port === undefined) throw new Error(JSON.stringify(events));
    return listening.port;
  });
  return {
    port,
    async publish(node, version, resources) {
      const before = events.length;
      server.stdin.write(`${JSON.stringify({ node, version, resources })}\n`);
      const isAnswer = (event: ServerEvent): boolean => event.error !== undefined || isAckOf(event, node, version);
      const answer = await eventually(`an answer to version ${version}`, () => {
        const found = events.slice(before).find((event) => isAnswer(event));
        if (found === undefined) throw new Error(JSON.stringify(events.slice(before)));
        return found;
      });
      if (answer.error !== undefined) throw new Error(`NACK, or no configuration: ${answer.error}`);
    },
    async stop() {
      const exited = once(server, "exit");
      server.kill("SIGKILL");
      await exited;
    },
  };
}

function isAckOf({ event, node, version }: ServerEvent, wantedNode: string, wantedVersion: string): boolean {
  return event === "asked" && node === wantedNode && version === wantedVersion;
}
