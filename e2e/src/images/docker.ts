// A Docker Engine for one test: its processes, network and mounts are in namespaces that end with the test, also
// when that is killed, and its images are in a folder of the test. Needs root.
import { rmSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "@weir/harness/processes/eventually";
import { ROOT, runCommand } from "@weir/harness/processes/programs";
import { ServerProcess } from "@weir/harness/processes/server-process";

/** Longest time of one command, in milliseconds: containers wait for the health of others. */
const COMMAND_TIMEOUT_MS = 300_000;

/** In /run are sockets and locks, which another engine of this machine may have there, too. */
const SCRIPT = `
mount -t tmpfs tmpfs /run
ip link set lo up
exec dockerd --host "unix://$1/docker.sock" --data-root "$1/data"
`;

/** A running engine. */
export class DockerEngine {
  readonly #folder: string;
  readonly #server: ServerProcess;

  /** An engine in `folder`, which exists and is empty. */
  constructor(folder: string) {
    this.#folder = folder;
    const namespaces = ["--net", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation", "private"];
    this.#server = new ServerProcess({
      name: "dockerd",
      command: "unshare",
      args: [...namespaces, "--", "sh", "-euc", SCRIPT, "sh", folder],
      logPath: join(folder, "dockerd.log"),
    });
  }

  /** Starts it and waits until it serves. */
  async start(): Promise<void> {
    await this.#server.startAndWait(async () => {
      await this.run("docker version");
    });
  }

  /** Runs a shell command in the engine's network and the root of the repository; returns its output. */
  async run(command: string): Promise<string> {
    // eslint-disable-next-line no-restricted-syntax -- docker finds its programs on the PATH of the test
    const env = { ...process.env, DOCKER_HOST: `unix://${this.#folder}/docker.sock`, COMMAND: command };
    const inNetwork = `exec nsenter --target ${this.#server.pid} --net -- sh -euc "$COMMAND"`;
    const { code, stdout, stderr } = await runCommand(inNetwork, { cwd: ROOT, env, timeout: COMMAND_TIMEOUT_MS });
    if (code !== 0) throw new Error(`Cannot run "${command}": exit code ${code}\n${stdout}${stderr}`);
    return stdout;
  }

  /** Makes an image of programs of this machine and their libraries, with further instructions of a Dockerfile. */
  async importPrograms(image: string, programs: readonly string[], instructions: readonly string[]): Promise<void> {
    const files = programs.join(" ");
    const changes = instructions.map((instruction) => `--change '${instruction}'`).join(" ");
    const list = `{ ls ${files}; ldd ${files} | grep -o '/[^ :]*'; } | sort -u`;
    await this.run(`${list} | tar -chP --hard-dereference -T - | docker import ${changes} - ${image}`);
  }

  /** Ends it with its containers, and removes its folder. */
  async stop(): Promise<void> {
    await this.#server.kill();
    // The kernel ends the other processes a moment later.
    await eventually("the engine to end", () => rmSync(this.#folder, { recursive: true, force: true }));
  }
}
