// The values of node:http. An `import` evaluates all exports of a module of Node, and those for WebSockets load its
// whole HTTP client, undici: 3 MB of heap in each process, and its WebAssembly.
import type * as Http from "node:http";

const http: typeof Http = process.getBuiltinModule("node:http");

/** That of node:http. */
export const { createServer, STATUS_CODES } = http;
