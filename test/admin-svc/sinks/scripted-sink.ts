/** An HTTP service that accepts or refuses messages as scripted by a test. */
import { once } from "node:events";
import { type IncomingHttpHeaders, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface ReceivedPost {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export class ScriptedSink {
  /** Requests answered with a successful status. */
  readonly taken: ReceivedPost[] = [];
  /** Requests answered with an error, or not at all. */
  readonly refused: ReceivedPost[] = [];
  /** Answers a request; a function that does nothing leaves it unanswered. */
  answer: (response: ServerResponse) => void = acceptPost;
  readonly #server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { method = "", url: path = "", headers } = request;
      this.answer(response);
      const isTaken = response.writableEnded && response.statusCode < 300;
      (isTaken ? this.taken : this.refused).push({ method, path, headers, body: Buffer.concat(chunks) });
    });
  });

  async open(): Promise<this> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Ends all connections. */
  drop(): void {
    this.#server.closeAllConnections();
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }
}

export const acceptPost = (response: ServerResponse): void => void response.writeHead(204).end();
export const refusePost = (response: ServerResponse): void => void response.writeHead(503).end();
export const leaveUnanswered = (): void => {};
