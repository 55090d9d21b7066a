// Program: attacks the port given by the second argument until it is ended, in a process of its own
// so that the clients of the test are not kept waiting by it.
import { connect } from "node:net";
import { ATTACKS, type Attack } from "./attacks.suite.ts";

/** Wait before a connection that the server closed is opened again, in milliseconds. */
const RECONNECT_MS = 20;

/** Bytes written in the hope that they arrive before the attacker looks at anything else. */
const PIECE_MAX_BYTES = 1 << 20;

const [, , name, port] = process.argv;
const attack = ATTACKS.find((each) => each.name === name);
if (attack === undefined) throw new Error(`Unknown attack: ${name}`);
for (let index = 0; index < attack.connections; index++) open(attack);

function open(chosen: Attack): void {
  const socket = connect(Number(port), "127.0.0.1");
  socket.on("error", () => undefined); // "close" follows.
  socket.on("close", () => void setTimeout(() => open(chosen), RECONNECT_MS));
  if (chosen.reads) socket.resume();
  else socket.pause();
  let number = 0;
  const send = (): void => {
    for (let written = 0; written < PIECE_MAX_BYTES;) {
      const bytes = chosen.next(number++);
      if (bytes === undefined || socket.destroyed) return;
      written += bytes.length;
      if (!socket.write(bytes)) return; // Once more at "drain".
    }
    setImmediate(send);
  };
  socket.on("drain", send);
  socket.once("connect", () => {
    socket.write(chosen.opening);
    send();
  });
}
