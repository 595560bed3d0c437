/** A client connection on a raw socket. It sends one request at a time, and counts the deltas as they arrive. */
import { type Socket, connect } from "node:net";
import { machineClockMs } from "../../../support/machine.ts";
import { type Script, deltasOf, hasJsonAnswer } from "../script.ts";
import { AnswerReader } from "./answer-reader.ts";
import { numberPrefix } from "./long-request.ts";
import { MarkCounter } from "./mark-counter.ts";
import { type RequestForm, type LoadTarget, deltaMarkers, requestBytes, successMarkers } from "./target.ts";

/** A request prepared for repeated sending. */
export interface PreparedRequest {
  readonly script: Script;
  readonly bytes: Buffer;
  /** Offset of the number within a long request; -1 for a request without a number. */
  readonly numberAt: number;
}

export function prepare(target: LoadTarget, script: Script, form?: RequestForm): PreparedRequest {
  const bytes = requestBytes(target, script, form);
  const markAt = bytes.lastIndexOf(numberPrefix);
  return { script, bytes, numberAt: markAt === -1 ? -1 : markAt + numberPrefix.length };
}

let requests = 0;

function numbered({ bytes, numberAt }: PreparedRequest): Buffer {
  if (numberAt === -1) return bytes;
  const copy = Buffer.from(bytes);
  copy.write(String(++requests).padStart(8, "0"), numberAt, "latin1");
  return copy;
}

export interface ExchangeEvents {
  /** Called after each read, with the number of its deltas. */
  deltas?(count: number): void;
  /** Called at the first delta, with the milliseconds since the request. */
  first?(ms: number): void;
}

/** State of the current answer: its deltas and its marks of success. */
interface Exchange {
  readonly script: Script;
  readonly events: ExchangeEvents;
  readonly deltaMarks: MarkCounter;
  readonly successMarks: MarkCounter;
  readonly sentAtMs: number;
  status: number;
  deltas: number;
  successes: number;
  /** Beginning of the body, for error messages. */
  opening: string;
  resolve(): void;
  reject(error: Error): void;
}

export class Connection {
  readonly socket: Socket;
  readonly #target: LoadTarget;
  readonly #reader: AnswerReader;
  #exchange: Exchange | undefined;

  constructor(target: LoadTarget) {
    this.#target = target;
    this.socket = connect({ port: target.port, host: "127.0.0.1", noDelay: true });
    this.#reader = new AnswerReader({
      status: (code) => this.#exchange && (this.#exchange.status = code),
      body: (bytes) => this.#body(bytes),
      end: () => this.#end(),
    });
    this.socket.on("data", (bytes) => this.#read(bytes));
    this.socket.on("error", (error) => this.#fail(error));
    this.socket.on("close", () => this.#fail(new Error("connection closed before the answer ended")));
  }

  /** Sends a request; the promise resolves once its whole answer has arrived. @throws if the answer is incomplete or failed */
  exchange(request: PreparedRequest, events: ExchangeEvents = {}): Promise<void> {
    const { script } = request;
    return new Promise((resolve, reject) => {
      this.#exchange = {
        script,
        events,
        deltaMarks: new MarkCounter(deltaMarkers[this.#target.format]),
        successMarks: new MarkCounter(successMarkers[this.#target.format]),
        sentAtMs: machineClockMs(),
        status: 0,
        deltas: 0,
        successes: 0,
        opening: "",
        resolve,
        reject,
      };
      this.socket.write(numbered(request));
    });
  }

  /** Whether an answer is still arriving. */
  get isBusy(): boolean {
    return this.#exchange !== undefined;
  }

  close(): void {
    this.socket.destroy();
  }

  #read(bytes: Buffer): void {
    try {
      this.#reader.feed(bytes);
    } catch (error) {
      this.socket.destroy(error as Error);
    }
  }

  #body(bytes: Buffer): void {
    const exchange = this.#exchange;
    if (!exchange) return;
    if (exchange.opening.length < 200) exchange.opening += bytes.toString("latin1", 0, 200);
    if (hasJsonAnswer(exchange.script)) return;
    const deltas = exchange.deltaMarks.feed(bytes);
    exchange.successes += exchange.successMarks.feed(bytes);
    if (deltas === 0) return;
    if (exchange.deltas === 0) exchange.events.first?.(machineClockMs() - exchange.sentAtMs);
    exchange.deltas += deltas;
    exchange.events.deltas?.(deltas);
  }

  #end(): void {
    const exchange = this.#exchange;
    this.#exchange = undefined;
    if (!exchange) return;
    const problem = problemOf(exchange, this.#target);
    if (problem === undefined) exchange.resolve();
    else exchange.reject(new Error(problem));
  }

  #fail(error: Error): void {
    this.#exchange?.reject(error);
    this.#exchange = undefined;
  }
}

function problemOf(
  { script, status, deltas, successes, opening }: Exchange,
  { changesDeltas }: LoadTarget,
): string | undefined {
  if (status !== 200) return `status ${status}: ${opening}`;
  if (hasJsonAnswer(script)) return opening.includes('"error":{') ? `failed: ${opening}` : undefined;
  if (successes !== 1) return `stream ended without success after ${deltas} deltas`;
  const isWrong = changesDeltas ? deltas < deltasOf(script) : deltas !== deltasOf(script);
  if (isWrong) return `${deltas} deltas instead of ${deltasOf(script)}`;
  return undefined;
}
