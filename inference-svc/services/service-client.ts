/** A client for services other than models: one request, one JSON response, each within a time limit. */
import { ValueCount, tooManyValues } from "@sluice/proto/lib/json/values.js";
import { longText, longWork } from "@sluice/proto/lib/load/fair-shares.js";
import { type Account, chunkOverheadBytes, heldBytes } from "@sluice/proto/lib/load/held-bytes.js";
import type { PostedAnswer } from "./detection/wire.ts";
import { CallAbandoned } from "../models/ledger/service-meter.ts";
import { abortFault } from "../turn/abort.ts";
import type { TurnSignal } from "../turn/signal.ts";
import { Connections } from "../models/upstream/transport/connections.ts";
import type { Connection, Request, ResponseHandler } from "../models/upstream/transport/http/connection.ts";
import { fieldLines, requestLine } from "../models/upstream/transport/http/request-head.ts";
import type { ResponseHead } from "../models/upstream/transport/http/response-head.ts";

/** Maximum bytes of an answer; detection services need about this much for the longest input. */
const answerLimitBytes = 4 * 1024 * 1024;
const connectMs = 2_000;

export interface ServiceSettings {
  readonly base_url: string;
  readonly api_key?: string | undefined;
  /** Header field for the API key; when absent, the key is sent as a bearer token. */
  readonly keyField?: string;
}

export interface ServiceCallLimits {
  readonly signal: TurnSignal;
  readonly timeoutMs: number;
  /** Called when the request is sent. */
  readonly onSent?: () => void;
  /** Header fields of this call. */
  readonly fields?: Readonly<Record<string, string>>;
}

export class ServiceClient {
  readonly #connections: Connections;
  readonly #host: string;
  readonly #base: string;
  /** Header fields of every request, as text. */
  readonly #fields: string;

  constructor({ base_url: baseUrl, api_key: key, keyField }: ServiceSettings, userAgent: string) {
    const url = new URL(baseUrl);
    this.#connections = new Connections(url.origin, connectMs);
    this.#host = url.host;
    this.#base = url.pathname.replace(/\/$/, "");
    this.#fields = fieldLines({
      accept: "application/json",
      "accept-encoding": "identity",
      "user-agent": userAgent,
      ...(key !== undefined && (keyField === undefined ? { authorization: `Bearer ${key}` } : { [keyField]: key })),
    });
  }

  /** Sends a POST request. @throws Error when no readable response arrives in time */
  readonly post = (path: string, body: string, limits: ServiceCallLimits): Promise<PostedAnswer> => {
    const line = requestLine("POST", `${this.#base}${path}`, this.#host);
    const fields = this.#fields + (limits.fields ? fieldLines(limits.fields) : "");
    return this.#send({ head: `${line}${fields}content-type: application/json\r\n`, body }, limits);
  };

  /** Sends a GET request. @param path path with its query @throws Error when no readable response arrives in time */
  readonly get = (path: string, limits: ServiceCallLimits): Promise<PostedAnswer> => {
    const line = requestLine("GET", `${this.#base}${path}`, this.#host);
    const fields = this.#fields + (limits.fields ? fieldLines(limits.fields) : "");
    return this.#send({ head: line + fields, body: "" }, limits);
  };

  /** Sends a request. The socket closes at once when the signal aborts or the time is over. Redirects are not followed. */
  async #send(request: Request, { signal, timeoutMs, onSent }: ServiceCallLimits): Promise<PostedAnswer> {
    if (signal.aborted) throw abortFault(signal);
    const call = new ServiceCall(this.#connections.take(), this.#host, onSent);
    const stop = () => call.fail(abortFault(signal));
    const timer = setTimeout(() => call.fail(new CallAbandoned(`no answer in ${timeoutMs} ms`, 524)), timeoutMs);
    signal.addEventListener("abort", stop);
    try {
      const posted = await call.send(request);
      // Callers parse the body at once, so a long body waits for its turn for long work.
      if (posted.body.length > longText) await longWork.turnOf(this.#host);
      return posted;
    } finally {
      call.release();
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
    }
  }

  /** Lets running calls finish, and keeps no connection afterwards. */
  retire(): void {
    this.#connections.retire();
  }

  /** Waits for running calls. */
  close(): Promise<void> {
    return this.#connections.close();
  }
}

/** Collects the response to one request. */
class ServiceCall implements ResponseHandler {
  /** The connection; undefined once the response has ended, because the connection may then carry another request. */
  #connection: Connection | undefined;
  readonly #onSent: (() => void) | undefined;
  readonly #held: Account;
  readonly #chunks: Buffer[] = [];
  readonly #values = new ValueCount();
  #size = 0;
  #status = 0;
  #resolve: (posted: PostedAnswer) => void = () => {};
  #reject: (error: Error) => void = () => {};

  constructor(connection: Connection, host: string, onSent?: () => void) {
    this.#connection = connection;
    this.#held = heldBytes.open(host, (fault) => this.fail(fault));
    this.#onSent = onSent;
  }

  send(request: Request): Promise<PostedAnswer> {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      this.#connection?.send(request, this);
    });
  }

  /** Called when the answer was read, to release the connection. */
  release(): void {
    this.#held.release();
  }

  /** Ends a call before the end of its response. */
  fail(error: Error): void {
    this.#connection?.close();
    this.#reject(error);
  }

  onRequestStart(): void {
    this.#onSent?.();
  }

  onResponseStart({ status }: ResponseHead): void {
    this.#status = status;
  }

  onResponseData(bytes: Buffer): void {
    this.#size += bytes.length;
    this.#values.add(bytes);
    if (this.#size > answerLimitBytes)
      return this.fail(new CallAbandoned(`answer of more than ${answerLimitBytes} bytes`, 502));
    if (this.#values.isTooMany) return this.fail(new CallAbandoned(`answer of ${tooManyValues}`, 502));
    if (this.#held.tryGrow(bytes.length + chunkOverheadBytes)) this.#chunks.push(Buffer.from(bytes));
  }

  onResponseEnd(): void {
    this.#connection = undefined;
    this.#resolve({ status: this.#status, body: Buffer.concat(this.#chunks).toString() });
  }

  onResponseError(error: Error): void {
    this.#connection = undefined;
    this.#reject(error);
  }
}
