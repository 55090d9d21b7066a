// The process that decodes images: another Node without secrets, network or listener. It works on one
// image at a time and is killed when that takes too long or too much memory.
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, extname, join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import type { ImageResult, StoredImageLimits } from "../image.ts";
import { decodeReply, encodeFrame, FrameReader, type Reply, REPLY_HEAD_BYTES } from "./frames.ts";

/** Longest start, in milliseconds: a busy machine takes a second. */
const START_TIMEOUT_MS = 15_000;

/** How often the memory of a working process is looked at, in milliseconds. */
const MEMORY_CHECK_MS = 50;

/** Longest end of the standard error that a reason shows, in characters. */
const STDERR_LENGTH = 500;

/** Size of a page of memory in /proc/<pid>/statm, in bytes: that of x86 and nearly all ARM kernels. */
const PAGE_BYTES = 4096;

/** The program, next to this file: as it was built, or its source. */
const PROGRAM = fileURLToPath(new URL(`image-main${extname(import.meta.url)}`, import.meta.url));

/** The bounds of one image. */
export interface ImageWorkLimits extends StoredImageLimits {
  /** Longest time, in milliseconds. */
  readonly timeoutMs: number;
  /** Most resident memory of the process, in bytes. */
  readonly memoryMaxBytes: number;
}

/** An image process. */
export class ImageProcess {
  readonly #limits: ImageWorkLimits;
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #reader: FrameReader;
  readonly #ready = Promise.withResolvers<void>();
  readonly #ended = Promise.withResolvers<string>();
  readonly #startTimer: NodeJS.Timeout;
  #reply: ((result: ImageResult) => void) | undefined;
  #killReason: string | undefined;
  #isKilledFromOutside = false;
  #stderr = "";

  /** Starts the process. */
  constructor(limits: ImageWorkLimits) {
    this.#limits = limits;
    this.#reader = new FrameReader(REPLY_HEAD_BYTES + limits.maxBytes);
    this.#ready.promise.catch(() => undefined); // It may end before `ready` is asked for.
    const bounds = [limits.maxPixels, limits.maxBytes].map(String);
    this.#child = spawn(process.execPath, [...nodeFlags(), PROGRAM, ...bounds], {
      cwd: "/",
      env: ENVIRONMENT,
      stdio: ["pipe", "pipe", "pipe"],
    });
    this.#child.stdin.on("error", () => undefined); // It has ended, which "exit" reports.
    this.#child.stdout.on("data", (chunk: Buffer) => this.#receive(chunk));
    this.#child.stderr.on("data", (chunk: Buffer) => {
      this.#stderr = (this.#stderr + chunk.toString()).slice(-STDERR_LENGTH);
    });
    this.#child.on("error", (error) => this.#end(error.message));
    this.#child.on("exit", (code, signal) => {
      this.#isKilledFromOutside = signal === "SIGKILL" && this.#killReason === undefined;
      this.#end(signal === null ? `exit code ${code}` : `signal ${signal}`);
    });
    this.#startTimer = setTimeout(() => this.kill(`it did not start within ${START_TIMEOUT_MS} ms`), START_TIMEOUT_MS);
    void this.#offerToKiller();
  }

  /** Resolves when it can work; rejects with the reason when it ended before that. */
  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  /** Resolves with the reason when it has ended. */
  get ended(): Promise<string> {
    return this.#ended.promise;
  }

  /** True when neither this class nor the image ended it, but the kernel, without memory, or an operator. */
  get isKilledFromOutside(): boolean {
    return this.#isKilledFromOutside;
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /**
   * The result of a file, or undefined when the process ended over it. One file at a time, once the
   * process is ready.
   */
  async work(file: Buffer): Promise<ImageResult | undefined> {
    const { timeoutMs } = this.#limits;
    const replied = new Promise<ImageResult>((resolve) => (this.#reply = resolve));
    const timer = setTimeout(() => this.kill(`an image took longer than ${timeoutMs} ms`), timeoutMs);
    const watch = setInterval(() => void this.#checkMemory(), MEMORY_CHECK_MS);
    try {
      for (const piece of encodeFrame(file)) this.#child.stdin.write(piece);
      return await Promise.race([replied, this.#ended.promise.then(() => undefined)]);
    } finally {
      clearTimeout(timer);
      clearInterval(watch);
      this.#reply = undefined;
    }
  }

  /** The resident memory in bytes; undefined when it has ended, or where there is no /proc. */
  async memoryBytes(): Promise<number | undefined> {
    try {
      const [, resident] = (await readFile(`/proc/${this.#child.pid}/statm`, "latin1")).split(" ");
      return Number(resident) * PAGE_BYTES;
    } catch {
      return undefined;
    }
  }

  /** Ends it immediately. */
  kill(reason: string): void {
    this.#killReason ??= reason;
    this.#child.kill("SIGKILL");
  }

  #receive(chunk: Buffer): void {
    let payloads: readonly Buffer[];
    try {
      payloads = this.#reader.push(chunk);
    } catch (error) {
      this.kill(`it broke the protocol: ${String(error)}`);
      return;
    }
    for (const reply of payloads.map(decodeReply)) this.#take(reply);
  }

  #take(reply: Reply | undefined): void {
    if (reply?.kind === "ready") {
      clearTimeout(this.#startTimer);
      this.#ready.resolve();
    } else if (reply === undefined || this.#reply === undefined) this.kill("it broke the protocol");
    else this.#reply(reply.result);
  }

  #end(exit: string): void {
    clearTimeout(this.#startTimer);
    const reason = this.#killReason ?? [exit, this.#stderr.trim()].filter((text) => text !== "").join(": ");
    this.#ready.reject(new Error(`the image process ended: ${reason}`));
    this.#ended.resolve(reason);
  }

  async #checkMemory(): Promise<void> {
    const { memoryMaxBytes } = this.#limits;
    const bytes = await this.memoryBytes();
    if (bytes !== undefined && bytes > memoryMaxBytes) this.kill(`an image took more than ${memoryMaxBytes} bytes`);
  }

  /** When the machine or the container runs out of memory, the kernel ends this process first. */
  #offerToKiller(): Promise<void> {
    // Not Linux, or ended already: nothing depends on it.
    return writeFile(`/proc/${this.#child.pid}/oom_score_adj`, "1000").catch(() => undefined);
  }
}

/**
 * All that the process finds in its environment: no secret, one thread for images, and an allocator
 * that gives memory back after each of them.
 */
const ENVIRONMENT: NodeJS.ProcessEnv = {
  UV_THREADPOOL_SIZE: "1",
  MALLOC_ARENA_MAX: "1",
  MALLOC_MMAP_THRESHOLD_: "65536",
  MALLOC_TRIM_THRESHOLD_: "1048576",
};

/**
 * The flags of its Node. The permission model denies JavaScript everything but reading its program and
 * packages; it does not bind native code, so it is a second wall behind libvips' own.
 */
function nodeFlags(): readonly string[] {
  const packages = packagesFolder();
  return [
    "--max-old-space-size=48",
    "--max-semi-space-size=1",
    "--permission",
    "--allow-addons",
    `--allow-fs-read=${dirname(dirname(PROGRAM))}`,
    `--allow-fs-read=${packages}`,
    "--disable-warning=SecurityWarning",
  ];
}

/** The node_modules that sharp is in. */
function packagesFolder(): string {
  const sharp = createRequire(import.meta.url).resolve("sharp");
  const marker = `${join("/", "node_modules")}/`;
  return sharp.slice(0, sharp.lastIndexOf(`${marker}sharp/`) + marker.length);
}
