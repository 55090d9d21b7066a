// The memory that a running program keeps after a garbage collection, read over the DevTools protocol
// of its runtime.
import { residentMebibytes } from "../benchmarks/cpu-time.ts";

/**
 * Variables for the environment of the program that open its inspector; it then prints the address
 * on standard error.
 */
export const INSPECTED = { NODE_OPTIONS: "--inspect=127.0.0.1:0" } as const;

/**
 * Longest wait for one answer, in milliseconds: collecting a large heap on a busy machine takes a
 * while.
 */
const ANSWER_TIMEOUT_MS = 120_000;

/** Collected so often that also what only a finalizer frees is gone. */
const COLLECTIONS = 2;

const MEBIBYTE = 1024 * 1024;

/** Memory of the program in MiB. */
export interface HeldMemory {
  /** The heap of JavaScript, and what buffers hold outside it. */
  readonly heap: number;
  /** Resident pages of the process: also what is free inside it. */
  readonly resident: number;
}

/** The address of the inspector in a line of the program; undefined in every other line. */
export function inspectorUrlOf(line: string): string | undefined {
  return /^Debugger listening on (ws:\/\/\S+)$/.exec(line)?.[1];
}

/** Opens the connection. */
export async function openInspectedHeap(url: string, pid: number): Promise<InspectedHeap> {
  const socket = new WebSocket(url);
  await new Promise<void>((resolve, reject) => {
    socket.addEventListener("open", () => resolve(), { once: true });
    socket.addEventListener("error", () => reject(new Error(`Cannot look into the program at ${url}`)), { once: true });
  });
  return new InspectedHeap(socket, pid);
}

/** An answer of the protocol; without an id it is an event. */
interface InspectorReply {
  readonly id?: number;
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}

/** A connection to the inspector of a program. */
export class InspectedHeap {
  readonly #socket: WebSocket;
  readonly #pid: number;
  readonly #waiting = new Map<number, (reply: InspectorReply) => void>();
  #lastId = 0;

  constructor(socket: WebSocket, pid: number) {
    this.#socket = socket;
    this.#pid = pid;
    socket.addEventListener("message", ({ data }) => {
      const reply = JSON.parse(String(data)) as InspectorReply;
      if (reply.id !== undefined) this.#waiting.get(reply.id)?.(reply);
    });
  }

  /** Collects garbage and returns the memory that is left. */
  async look(): Promise<HeldMemory> {
    for (let index = 0; index < COLLECTIONS; index++) await this.#post("HeapProfiler.collectGarbage");
    const { usedSize, backingStorageSize, embedderHeapUsedSize } = (await this.#post("Runtime.getHeapUsage")) as {
      readonly usedSize: number;
      readonly backingStorageSize: number;
      readonly embedderHeapUsedSize: number;
    };
    return {
      heap: (usedSize + backingStorageSize + embedderHeapUsedSize) / MEBIBYTE,
      resident: residentMebibytes(this.#pid),
    };
  }

  close(): void {
    this.#socket.close();
  }

  #post(method: string): Promise<unknown> {
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new Error(`No answer to ${method} within ${ANSWER_TIMEOUT_MS} ms`)),
        ANSWER_TIMEOUT_MS,
      );
      this.#waiting.set(id, ({ result, error }) => {
        clearTimeout(timer);
        this.#waiting.delete(id);
        if (error === undefined) resolve(result);
        else reject(new Error(`${method} failed: ${error.message}`));
      });
      this.#socket.send(JSON.stringify({ id, method }));
    });
  }
}
