/** Connections to inference processes for calls beside the lanes, such as those for embeddings: each call goes to the next process that can work. */
import type { Client } from "@grpc/grpc-js";

export interface ClientsParts {
  /** Addresses of the processes that take turns, host:port; the fittest ones. */
  readonly addresses: () => readonly string[];
  readonly dial: (address: string) => Client;
  /** Connection to any process, for calls before a process takes turns. */
  readonly any: Client;
}

export class InferenceClients {
  readonly #parts: ClientsParts;
  readonly #clients = new Map<string, Client>();
  #calls = 0;

  constructor(parts: ClientsParts) {
    this.#parts = parts;
  }

  /** The connection for one call. */
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

  /** Closes connections to processes that take no turns; calls that are under way end first. */
  #forget(known: readonly string[]): void {
    for (const [address, client] of this.#clients) {
      if (known.includes(address)) continue;
      client.close();
      this.#clients.delete(address);
    }
  }
}
