/** Connections to inference processes for calls other than turns, such as embeddings. Calls rotate over the working processes. */
import type { Client } from "@grpc/grpc-js";

export interface ClientsDeps {
  /** Addresses, as host:port, of the fittest processes that accept turns. */
  readonly addresses: () => readonly string[];
  readonly dial: (address: string) => Client;
  /** Connection to any process, used until a process accepts turns. */
  readonly any: Client;
}

export class InferenceClients {
  readonly #parts: ClientsDeps;
  readonly #clients = new Map<string, Client>();
  #calls = 0;

  constructor(parts: ClientsDeps) {
    this.#parts = parts;
  }

  /** The connection for the next call. */
  get next(): Client {
    const { addresses, dial, any } = this.#parts;
    const known = addresses();
    const address = known[this.#calls++ % known.length];
    if (address === undefined) return any;
    if (this.#clients.size > known.length) this.#forget(known);
    const client = this.#clients.get(address) ?? dial(address);
    this.#clients.set(address, client);
    return client;
  }

  stop(): void {
    this.#parts.any.close();
    this.#forget([]);
  }

  /** Closes connections to processes that no longer accept turns, after their running calls. */
  #forget(known: readonly string[]): void {
    for (const [address, client] of this.#clients) {
      if (known.includes(address)) continue;
      client.close();
      this.#clients.delete(address);
    }
  }
}
