// The program of the image process: a file per frame on standard input, its result on standard
// output; its arguments are the most pixels and bytes of a result. It ends with its input, so it never
// outlives the service.
import { encodeReply, FILE_MAX_BYTES, FrameReader, type Reply } from "./frames.ts";
import { recodeImage, setUpSharp } from "./recode.ts";

// A terminal sends Ctrl-C to this process too, but the service still needs it until it has stopped.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => undefined);

const [maxPixels = 0, maxBytes = 0] = process.argv.slice(2).map(Number);

setUpSharp();
send({ kind: "ready" });
const reader = new FrameReader(FILE_MAX_BYTES);
for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
  for (const file of reader.push(chunk))
    send({ kind: "result", result: await recodeImage(file, { maxPixels, maxBytes }) });
}

function send(reply: Reply): void {
  for (const piece of encodeReply(reply)) process.stdout.write(piece);
}
