/** A provider that replays the exchange named by the caller's key, and records its requests. */
import { once } from "node:events";
import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Exchange } from "./corpus.ts";
import { type JsonRecord, jsonRecord, parseJson } from "./readers/json.ts";

export interface UpstreamCall {
  readonly body: JsonRecord;
  readonly headers: IncomingMessage["headers"];
}

/** Bytes per write, chosen so events and characters are split. */
const pieceBytes = 1300;

export class RecordedProvider {
  readonly #exchanges: ReadonlyMap<string, Exchange>;
  readonly #asked = new Map<string, UpstreamCall[]>();
  readonly #server = createServer((request, response) => void this.#answer(request, response));

  constructor(exchanges: readonly Exchange[]) {
    this.#exchanges = new Map(exchanges.map((exchange) => [exchange.id, exchange]));
  }

  async listen(): Promise<number> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return (this.#server.address() as AddressInfo).port;
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  /** Returns the requests for an exchange since the last call of this method. */
  takeAsked(id: string): readonly UpstreamCall[] {
    const asked = this.#asked.get(id) ?? [];
    this.#asked.delete(id);
    return asked;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { headers } = request;
    const key =
      headers.authorization?.replace(/^Bearer /, "") ??
      headers["x-api-key"] ??
      headers["x-goog-api-key"] ??
      headers["api-key"];
    const exchange = this.#exchanges.get(String(key));
    // The client may have left.
    response.on("error", () => undefined);
    if (!exchange) return void response.writeHead(418).end();
    const body = jsonRecord(parseJson(Buffer.concat(chunks).toString()));
    this.#asked.set(exchange.id, [...(this.#asked.get(exchange.id) ?? []), { body, headers }]);
    response.writeHead(exchange.status, exchange.headers);
    const { bytes } = exchange;
    for (let at = 0; at < bytes.length; at += pieceBytes) response.write(bytes.subarray(at, at + pieceBytes));
    response.end();
  }
}
