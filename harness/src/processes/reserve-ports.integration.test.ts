// Real sockets: what other processes may and may not take is the point of the file under test.
import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";

import { describe, expect, it } from "vitest";
import { reservePorts } from "./reserve-ports.ts";

/** Asks for a port as another process does that comes upon none but these. */
const ASK_FOR_THE_REST = `
import { createRequire, syncBuiltinESMExports } from "node:module";
const ports = JSON.parse(process.argv[1]);
const crypto = createRequire(import.meta.url)("node:crypto");
let asked = 0;
crypto.randomInt = () => ports[asked++ % ports.length];
syncBuiltinESMExports();
const { reservePort } = await import(${JSON.stringify(join(import.meta.dirname, "reserve-ports.ts"))});
console.log(await reservePort().then((port) => "given " + port, (error) => error.message));
`;

describe("reservePorts()", () => {
  it("gives different ports that servers can listen on, below those of outgoing connections", async () => {
    const ports = await reservePorts(8);
    expect(new Set(ports)).toHaveLength(8);
    expect(Math.max(...ports)).toBeLessThan(32_768);
    for (const port of ports) {
      const server = createServer().listen(port, "127.0.0.1");
      await once(server, "listening");
      await once(server.close(), "close");
    }
  });

  it("gives no port that another process was given, though nothing listens there", async () => {
    const ports = await reservePorts(3);
    const { stdout } = await promisify(execFile)(process.execPath, [
      "--input-type=module",
      "--eval",
      ASK_FOR_THE_REST,
      JSON.stringify(ports),
    ]);
    expect(stdout).toBe("Cannot find a free port from 12000 to 32000\n");
  });
});
