/** HTTP calls to a service that is no provider: one question there, one JSON body back, each within its time. */
import type { Post, Posted } from "../internal/detection/mark.ts";
import { abortFault } from "../turn/abort.ts";
import type { TurnSignal } from "../turn/signal.ts";
import { Connections } from "./connections.ts";

/** A place for every few characters of a question would be less. */
const answerLimitBytes = 4 * 1024 * 1024;
const connectMs = 2_000;

export interface ServiceSettings {
  readonly base_url: string;
  readonly api_key?: string | undefined;
}

interface CallLimits {
  readonly signal: TurnSignal;
  readonly timeoutMs: number;
}

/** @throws Error when nothing that can be read comes back in time */
export type Get = (path: string, limits: CallLimits) => Promise<Posted>;

interface Sent {
  readonly method: "GET" | "POST";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export class Service {
  readonly #connections: Connections;
  readonly #base: string;
  readonly #headers: Readonly<Record<string, string>>;

  constructor({ base_url: baseUrl, api_key: key }: ServiceSettings, userAgent: string) {
    const url = new URL(baseUrl);
    this.#connections = new Connections(url.origin, connectMs);
    this.#base = url.pathname.replace(/\/$/, "");
    this.#headers = {
      accept: "application/json",
      "accept-encoding": "identity",
      "user-agent": userAgent,
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
    };
  }

  readonly post: Post = (path, body, limits) =>
    this.#send(
      path,
      { method: "POST", body, headers: { ...this.#headers, "content-type": "application/json" } },
      limits,
    );

  /** @param path with its query */
  readonly get: Get = (path, limits) => this.#send(path, { method: "GET", headers: this.#headers }, limits);

  /** The socket closes at once when the signal aborts or the time is over. A redirect is an answer like any other: it is not followed. */
  async #send(path: string, sent: Sent, { signal, timeoutMs }: CallLimits): Promise<Posted> {
    const abort = new AbortController();
    const stop = () => abort.abort(abortFault(signal));
    const timer = setTimeout(() => abort.abort(new Error(`no answer in ${timeoutMs} ms`)), timeoutMs);
    signal.addEventListener("abort", stop);
    if (signal.aborted) stop();
    const connection = this.#connections.take();
    let reusable = false;
    try {
      const response = await connection.request({
        ...sent,
        path: `${this.#base}${path}`,
        signal: abort.signal,
      });
      const chunks: Buffer[] = [];
      let size = 0;
      for await (const chunk of response.body as AsyncIterable<Buffer>) {
        size += chunk.length;
        if (size > answerLimitBytes) throw new Error(`answer of more than ${answerLimitBytes} bytes`);
        chunks.push(chunk);
      }
      reusable = true;
      return { status: response.statusCode, body: Buffer.concat(chunks).toString() };
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
      if (reusable) this.#connections.release(connection);
      else this.#connections.discard(connection);
    }
  }

  /** As of connections. */
  retire(): void {
    this.#connections.retire();
  }

  /** Waits for what is under way. */
  close(): Promise<void> {
    return this.#connections.close();
  }
}
