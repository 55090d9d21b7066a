// A real SMTP server for tests, which keeps the mails that it takes.
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { SMTPServer } from "smtp-server";

/** A mail as it arrived. */
export interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  /** Header and body, with the soft line breaks of quoted-printable undone. */
  readonly text: string;
}

/** The server. */
export class MailServer {
  readonly mails: ReceivedMail[] = [];
  /** The answer to a recipient; undefined takes the mail. */
  refusal: string | undefined;
  readonly #server: SMTPServer;

  private constructor() {
    this.#server = new SMTPServer({
      // The key of a test server that its clients do not know: TLS is what they must not fall back from.
      disabledCommands: ["STARTTLS"],
      authOptional: true,
      onAuth: ({ username, password }, _session, done) =>
        username === "weir" && password === "p@ss" ? done(null, { user: username }) : done(new Error("not this user")),
      onRcptTo: (_address, _session, done) => done(this.refusal === undefined ? null : new Error(this.refusal)),
      onData: (stream, { envelope }, done) => {
        void text(stream).then((raw) => {
          const { mailFrom, rcptTo } = envelope;
          const from = mailFrom === false ? "" : mailFrom.address;
          this.mails.push({ from, to: rcptTo.map(({ address }) => address), text: decode(raw) });
          done();
        });
      },
    });
  }

  /** Starts one on a free port. */
  static async start(): Promise<MailServer> {
    const server = new MailServer();
    await once(server.#server.listen(0, "127.0.0.1"), "listening");
    return server;
  }

  /** Its URL with its user. */
  get url(): string {
    const { port } = this.#server.server.address() as AddressInfo;
    return `smtp://weir:p%40ss@127.0.0.1:${port}`;
  }

  async stop(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.close(resolve));
  }
}

/** The token of the newest mail with a link of this kind. */
export function tokenOf({ mails }: Pick<MailServer, "mails">, kind: "verify" | "reset"): string {
  const [, token] = new RegExp(`#${kind}=([\\w-]{64})\\s`).exec(mails.at(-1)?.text ?? "") ?? [];
  if (token === undefined) throw new Error(`the newest mail has no link to ${kind}`);
  return token;
}

function decode(raw: string): string {
  return raw
    .replaceAll(/=\r\n/g, "")
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
}
