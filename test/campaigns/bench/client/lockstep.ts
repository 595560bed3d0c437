/**
 * Loads of an exact size: a fixed number of requests over a fixed number of connections, or a stream whose events are each written after the arrival
 * of the previous one, so batch sizes do not depend on the speed of the machine.
 */
import type { Script } from "../script.ts";
import { Connection, type PreparedRequest, prepare } from "./connection.ts";
import type { LoadTarget, RequestForm } from "./target.ts";

export interface LockstepOptions {
  readonly target: LoadTarget;
  readonly script: Script;
  readonly form?: RequestForm;
  readonly connections: number;
  readonly count: number;
}

/**
 * Open connections by port, key and format (the format decides how deltas are recognised). They are reused by later calls, because opening them is
 * not part of a request.
 */
const kept = new Map<string, Connection[]>();

/** @throws if an answer is incomplete or failed, once no answer is running any more */
export async function exchangeAll({ target, script, form, connections, count }: LockstepOptions): Promise<void> {
  const request = prepare(target, script, form);
  // The server closes idle connections, so closed ones are replaced.
  const place = `${target.port} ${target.key} ${target.format}`;
  const open = (kept.get(place) ?? []).filter(({ socket }) => !socket.destroyed);
  while (open.length < connections) open.push(new Connection(target));
  kept.set(place, open);
  let left = count;
  const work = async (connection: Connection) => {
    while (left-- > 0) await connection.exchange(request);
  };
  const stopAll = (error: Error) => {
    left = 0;
    throw error;
  };
  const ends = await Promise.allSettled(
    open.slice(0, connections).map((connection) => work(connection).catch(stopAll)),
  );
  const failed = ends.find((end) => end.status === "rejected");
  if (failed) throw failed.reason;
}

export const steppedScript: Script = { kind: "stepped" };

export class SteppedStream {
  readonly #step: PreparedRequest;
  readonly #stream: Connection;
  readonly #upstream: Connection;
  /** Rejects when the stream ends; the stream is endless, so its end is an error. */
  readonly #ended: Promise<void>;
  readonly #first: Promise<void>;
  #arrived: () => void = () => undefined;

  constructor(target: LoadTarget, direct: LoadTarget) {
    this.#step = prepare(direct, { kind: "step" });
    this.#upstream = new Connection(direct);
    this.#stream = new Connection(target);
    this.#first = this.#next();
    this.#ended = this.#stream.exchange(prepare(target, steppedScript), { deltas: () => this.#arrived() });
    this.#ended.catch(() => undefined);
  }

  /** Resolves at the first event, which comes without a step. */
  async begun(): Promise<void> {
    await Promise.race([this.#first, this.#ended]);
  }

  async step(count: number): Promise<void> {
    for (let left = count; left > 0; left--) {
      const next = this.#next();
      await this.#upstream.exchange(this.#step);
      await Promise.race([next, this.#ended]);
    }
  }

  close(): void {
    this.#stream.close();
    this.#upstream.close();
  }

  #next(): Promise<void> {
    return new Promise((resolve) => (this.#arrived = resolve));
  }
}
