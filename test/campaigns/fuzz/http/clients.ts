/** The two clients to compare: Sluice's own, and undici with the settings that Sluice used earlier. */
import { createHash } from "node:crypto";
import { Connections } from "@sluice/inference-svc/models/upstream/transport/connections.js";
import type { Connection, ResponseHandler } from "@sluice/inference-svc/models/upstream/transport/http/connection.js";
import type { ResponseHead } from "@sluice/inference-svc/models/upstream/transport/http/response-head.js";
import { Client, type Dispatcher } from "undici";

/** Header fields that Sluice reads. */
const readFields = ["content-type", "content-encoding", "retry-after", "retry-after-ms", "date", "x-amzn-errortype"];

/** A response as a client understood it. */
export class ObservedResponse {
  status = 0;
  fields: readonly string[] = [];
  body = "";
  outcome: "pending" | "ended" | "failed" = "pending";
  error = "";

  /** Number of callbacks so far; it grows as long as anything happens. */
  news = 0;

  get text(): string {
    const { status, fields, body, outcome } = this;
    return JSON.stringify([outcome, status, fields, body.length, createHash("sha1").update(body).digest("hex")]);
  }

  begin(status: number, fields: readonly string[]): void {
    this.news++;
    this.status = status;
    this.fields = fields;
  }

  data(bytes: Buffer): void {
    this.news++;
    this.body += bytes.toString("latin1");
  }

  end(): void {
    this.news++;
    this.outcome = "ended";
  }

  fail(error: Error): void {
    this.news++;
    this.outcome = "failed";
    this.error = error.message;
  }
}

export interface HttpClient {
  /** @param isPaused whether reading pauses now and then */
  send(path: string, body: string, isPaused: boolean): ObservedResponse;
  close(): void;
}

interface Flow {
  pause(): void;
  resume(): void;
}

/** Maximum number of pauses: with more, the connection of the faster client would be too old for the next request. */
const maxPauses = 3;

/** Pauses reading for a moment after some of the reads. */
class Rests {
  #left: number;

  constructor(isPaused: boolean) {
    this.#left = isPaused ? maxPauses : 0;
  }

  take(flow: Flow): void {
    if (this.#left === 0) return;
    this.#left--;
    flow.pause();
    setImmediate(() => setImmediate(() => flow.resume()));
  }
}

export class OwnClient implements HttpClient {
  readonly #connections: Connections;
  readonly #origin: string;
  #last: OwnCall | undefined;

  constructor(origin: string) {
    this.#origin = origin;
    this.#connections = new Connections(origin, 2_000);
  }

  send(path: string, body: string, isPaused: boolean): ObservedResponse {
    const connection = this.#connections.take();
    this.#last = new OwnCall(connection, isPaused);
    const host = new URL(this.#origin).host;
    connection.send({ head: `POST ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: keep-alive\r\n`, body }, this.#last);
    return this.#last.observed;
  }

  close(): void {
    this.#last?.close();
    this.#connections.retire();
  }
}

class OwnCall implements ResponseHandler {
  readonly observed = new ObservedResponse();
  readonly #rests: Rests;
  #connection: Connection | undefined;

  constructor(connection: Connection, isPaused: boolean) {
    this.#connection = connection;
    this.#rests = new Rests(isPaused);
  }

  close(): void {
    this.#connection?.close();
  }

  onRequestStart(): void {}

  onResponseStart(head: ResponseHead): void {
    this.observed.begin(
      head.status,
      readFields.map((name) => head.first(name) ?? ""),
    );
  }

  onResponseData(bytes: Buffer): void {
    this.observed.data(bytes);
    this.#rests.take({ pause: () => this.#connection?.pause(), resume: () => this.#connection?.resume() });
  }

  onResponseEnd(): void {
    this.#connection = undefined;
    this.observed.end();
  }

  onResponseError(error: Error): void {
    this.#connection = undefined;
    this.observed.fail(error);
  }
}

export class UndiciClient implements HttpClient {
  readonly #client: Client;

  constructor(origin: string) {
    this.#client = new Client(origin, {
      pipelining: 1,
      keepAliveTimeout: 4_000,
      maxHeaderSize: 64 * 1024,
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  send(path: string, body: string, isPaused: boolean): ObservedResponse {
    const observed = new ObservedResponse();
    this.#client.dispatch({ path, method: "POST", body }, new UndiciCall(observed, isPaused));
    return observed;
  }

  close(): void {
    void this.#client.destroy();
  }
}

class UndiciCall implements Dispatcher.DispatchHandler {
  readonly #observed: ObservedResponse;
  readonly #rests: Rests;

  constructor(observed: ObservedResponse, isPaused: boolean) {
    this.#observed = observed;
    this.#rests = new Rests(isPaused);
  }

  onRequestStart(): void {}

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    fields: Record<string, string | string[]>,
  ): void {
    if (status < 200) return;
    // undici keeps white space after a value.
    const values = readFields.map((name) => ([fields[name] ?? ""].flat()[0] ?? "").trimEnd());
    this.#observed.begin(status, values);
  }

  onResponseData(controller: Dispatcher.DispatchController, bytes: Buffer): void {
    this.#observed.data(bytes);
    if (bytes.length > 0) this.#rests.take(controller);
  }

  onResponseEnd(): void {
    this.#observed.end();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#observed.fail(error);
  }
}
