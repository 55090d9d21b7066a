// What a running program holds, read over the DevTools protocol of its own runtime: the program is
// started as everybody starts it, and garbage is collected before each look, so that what is left
// is what is held.
import { residentMebibytes } from "../benchmarks/cpu-time.ts";

/**
 * What to put into the environment of the program, so that it can be looked into; it then says
 * where, on standard error.
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

/** A look into a program. */
export interface InspectedHeap {
  /** Collects garbage and tells what is left. */
  look(): Promise<HeldMemory>;
  close(): void;
}

/** The address in a line that the program wrote; undefined when it stands in another. */
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
  const session = new InspectorSession(socket);
  return {
    look: async () => {
      for (let index = 0; index < COLLECTIONS; index++) await session.post("HeapProfiler.collectGarbage");
      const { usedSize, backingStorageSize, embedderHeapUsedSize } = (await session.post("Runtime.getHeapUsage")) as {
        readonly usedSize: number;
        readonly backingStorageSize: number;
        readonly embedderHeapUsedSize: number;
      };
      return {
        heap: (usedSize + backingStorageSize + embedderHeapUsedSize) / MEBIBYTE,
        resident: residentMebibytes(pid),
      };
    },
    close: () => socket.close(),
  };
}

/** An answer of the protocol; without an id it is an event. */
interface InspectorReply {
  readonly id?: number;
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}

class InspectorSession {
  private readonly socket: WebSocket;
  private readonly waiting = new Map<
    number,
    (reply: { readonly result?: unknown; readonly error?: { readonly message: string } }) => void
  >();
  private lastId = 0;

  constructor(socket: WebSocket) {
    this.socket = socket;
    socket.addEventListener("message", ({ data }) => {
      const reply = JSON.parse(String(data)) as InspectorReply;
      if (reply.id !== undefined) this.waiting.get(reply.id)?.(reply);
    });
  }

  post(method: string): Promise<unknown> {
    const id = ++this.lastId;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new Error(`No answer to ${method} within ${ANSWER_TIMEOUT_MS} ms`)),
        ANSWER_TIMEOUT_MS,
      );
      this.waiting.set(id, ({ result, error }) => {
        clearTimeout(timer);
        this.waiting.delete(id);
        if (error === undefined) resolve(result);
        else reject(new Error(`${method} failed: ${error.message}`));
      });
      this.socket.send(JSON.stringify({ id, method }));
    });
  }
}
