// The program of the store's thread: opens the files, answers batches, and empties the log now and
// then. The event loop of the service never waits for a lock or a disk.
import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { describeError } from "@weir/common/errors/service-error";
import { StartError } from "../../errors.ts";
import { databasePath, lockDataDirectory } from "./data-directory.ts";
import type { FromThread, StoreAccess, ThreadData, ToThread } from "./messages.ts";
import { UserDatabase } from "./user-database.ts";

interface OpenFiles {
  readonly database: UserDatabase;
  readonly lock: { release(): void } | undefined;
}

function run(port: MessagePort, { directory, access, checkpointIntervalMs }: ThreadData): void {
  const send = (message: FromThread): void => port.postMessage(message);
  let files: OpenFiles;
  try {
    files = openFiles(directory, access);
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    // Without a listener for messages the thread ends by itself.
    send({
      kind: "unusable",
      code: error.code,
      message: error.message,
      ...(error.cause !== undefined && { reason: describeError(error.cause) }),
    });
    return;
  }
  const { database, lock } = files;
  const timer = setInterval(() => {
    try {
      if (access === "own") database.checkpoint();
    } catch (error) {
      send({ kind: "checkpointFailed", reason: describeError(error) });
    }
  }, checkpointIntervalMs);
  port.on("message", (message: ToThread) => {
    switch (message.kind) {
      case "batch":
        send({ kind: "batch", results: database.execute(message.requests) });
        return;
      case "close":
        clearInterval(timer);
        database.close();
        lock?.release();
        port.close();
    }
  });
  send({ kind: "opened" });
}

function openFiles(directory: string, access: StoreAccess): OpenFiles {
  const path = databasePath(directory);
  if (access !== "own") return { database: new UserDatabase(path, access), lock: undefined };
  const lock = lockDataDirectory(directory);
  try {
    return { database: new UserDatabase(path), lock };
  } catch (error) {
    lock.release();
    throw error;
  }
}

if (parentPort !== null) run(parentPort, workerData as ThreadData);
