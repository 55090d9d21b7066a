// Clients that pipeline as fast as the service answers, in a process of their own: the program that
// `startPipeliningClients` runs. Arguments: port, number of clients, requests in flight of each.
import { STACK_HOST } from "@weir/dev/setup/ports";
import { connect } from "node:net";

const [port = 0, clients = 0, inFlight = 0] = process.argv.slice(2).map(Number);
const REQUEST = "GET /api/v1/user/current-user HTTP/1.1\r\nHost: localhost\r\n\r\n";

for (let client = 0; client < clients; client += 1) open();

function open(): void {
  const socket = connect({ host: STACK_HOST, port });
  let rest = "";
  socket.setEncoding("latin1");
  socket.on("connect", () => socket.write(REQUEST.repeat(inFlight)));
  socket.on("data", (text: string) => {
    const answers = (rest + text).split("HTTP/1.1 401");
    rest = text.slice(-"HTTP/1.1 401".length + 1);
    socket.write(REQUEST.repeat(answers.length - 1));
  });
  socket.on("error", () => undefined); // The next attempt follows its end.
  socket.on("close", () => setTimeout(open, 100));
}
