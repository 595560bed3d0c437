/**
 * The connections to one provider: one request at a time on each, the one used last first.
 *
 * Not undici's Pool: that opens a new connection after every aborted request, so that a wave of cancels becomes a wave of handshakes, and it
 * looks through all busy connections for each request.
 */
import { Client } from "undici";
import { rememberedNames } from "./names.ts";

/** uvicorn, under which most self-hosted servers run, closes idle connections after 5 s without saying so. */
const keepAliveMs = 4_000;
const headersLimitBytes = 64 * 1024;

/** Of the process: a provider that was configured anew is where it was. */
const lookup = rememberedNames();

export class Connections {
  readonly #origin: string;
  readonly #connectMs: number;
  readonly #all = new Set<Client>();
  readonly #idle: Client[] = [];
  #retired = false;

  constructor(origin: string, connectMs: number) {
    this.#origin = origin;
    this.#connectMs = connectMs;
  }

  take(): Client {
    return this.#idle.pop() ?? this.#open();
  }

  #open(): Client {
    const client = new Client(this.#origin, {
      pipelining: 1,
      connect: { timeout: this.#connectMs, lookup },
      keepAliveTimeout: keepAliveMs,
      maxHeaderSize: headersLimitBytes,
      // The exchange has timers of its own, one a phase.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    this.#all.add(client);
    client.on("disconnect", () => {
      if (this.#idle.includes(client)) this.discard(client);
    });
    return client;
  }

  /** The answer was read to its end: the connection may carry another. */
  release(client: Client): void {
    if (this.#retired) this.discard(client);
    else this.#idle.push(client);
  }

  /** Closes the socket at once. */
  discard(client: Client): void {
    const at = this.#idle.indexOf(client);
    if (at !== -1) this.#idle.splice(at, 1);
    this.#all.delete(client);
    void client.destroy();
  }

  /** Nobody new will ask here: what is under way goes on, and nothing is kept for later. */
  retire(): void {
    this.#retired = true;
    for (let client = this.#idle.at(-1); client; client = this.#idle.at(-1)) this.discard(client);
  }

  /** Waits for what is under way. */
  async close(): Promise<void> {
    await Promise.all([...this.#all].map((client) => client.close()));
  }
}
