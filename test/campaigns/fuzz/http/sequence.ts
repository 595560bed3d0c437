/** Exchanges of two clients with the same script, one after the other on each client's connections. */
import type { ObservedResponse, HttpClient } from "./clients.ts";
import type { ScriptedResponse } from "./generate.ts";
import { type ScriptedServer, type ServedExchange, nextEventLoopTurn } from "./server.ts";
import {
  findCarriedOverState,
  findLaterChecks,
  findMoreLenientChecks,
  findStricterChecks,
  isAmbiguous,
} from "./differences.ts";

/** Number of turns of the event loop without activity, after which all written data have been read. */
const settleTurns = 8;
/** Milliseconds: somewhat less than the lifetime of idle connections. */
const oldMs = 2_000;
/** Turns of the event loop within which a request arrives, even on a busy machine. */
const arrivalTurns = 100_000;

/** The tested client, and the reference client. */
export type Pair = readonly [own: HttpClient, undici: HttpClient];

export class Sequence {
  readonly #server: ScriptedServer;
  readonly #number: number;
  readonly #pair: Pair;
  #sockets: readonly number[] = [];
  #lastBytes = Buffer.alloc(0);
  #endedAt = 0;
  /** Milliseconds from the end of the last exchange to the arrival of the next request; many on a busy machine. */
  #idleMs = 0;
  /** Reasons for which only one client may refuse the last response or the next one. */
  excused: readonly string[] = [];
  isReused = false;

  constructor(server: ScriptedServer, number: number, pair: Pair) {
    this.#server = server;
    this.#number = number;
    this.#pair = pair;
  }

  /** @returns the error; undefined without one */
  async exchange(
    step: number,
    response: ScriptedResponse,
  ): Promise<{ own: ObservedResponse; complaint: string | undefined }> {
    const paths = this.#pair.map((_, index) => `/${this.#number}/${step}/${index}`);
    for (const path of paths) this.#server.script(path, response);
    const [own, undici] = this.#pair.map((client, index) =>
      client.send(paths[index]!, '{"a":1}', response.isPaused),
    ) as [ObservedResponse, ObservedResponse];
    const served = await this.#arrived(paths);
    if (served === undefined) return { own, complaint: "a request did not arrive" };
    this.#idleMs = performance.now() - this.#endedAt;
    await Promise.all(served.map(({ played }) => played));
    await settled(own, undici);
    this.#endedAt = performance.now();
    return { own, complaint: this.#compareSockets(served) ?? this.#compare(own, undici, response) };
  }

  async #arrived(paths: readonly string[]): Promise<readonly ServedExchange[] | undefined> {
    for (let turn = 0; turn < arrivalTurns; turn++) {
      if (paths.every((path) => this.#server.isServed(path)))
        return paths.map((path) => this.#server.takeServed(path)!);
      await nextEventLoopTurn();
    }
    return undefined;
  }

  /** Compares whether both clients reuse their connections: the socket of a request shows what its client decided after the previous response. */
  #compareSockets(served: readonly ServedExchange[]): string | undefined {
    const last = this.#sockets;
    this.#sockets = served.map(({ socket }) => socket);
    const [own, undici] = this.#sockets.map((socket, index) => socket === last[index]);
    this.isReused = own === true;
    if (own === undici || (undici === true && (isAmbiguous(this.#lastBytes) || this.#idleMs > oldMs))) return undefined;
    return `after the response before, ${own === true ? "Sluice" : "undici"} used the connection again`;
  }

  #compare(own: ObservedResponse, undici: ObservedResponse, { pieces }: ScriptedResponse): string | undefined {
    this.#lastBytes = Buffer.concat(pieces);
    const [ownText, undiciText] = [own.text, undici.text];
    if (ownText === undiciText) {
      this.excused = findCarriedOverState(this.#lastBytes);
      return undefined;
    }
    this.excused = [
      ...(own.outcome === "failed" ? findStricterChecks(this.#lastBytes) : []),
      ...(own.outcome === "pending" && undici.outcome === "failed" ? findLaterChecks(this.#lastBytes) : []),
      ...(undici.outcome === "failed" ? findMoreLenientChecks(this.#lastBytes) : []),
    ];
    return this.excused.length > 0
      ? undefined
      : `Sluice: ${ownText} ${own.error}\nundici: ${undiciText} ${undici.error}`;
  }
}

/** Waits until nothing more happens in the exchanges. */
async function settled(own: ObservedResponse, undici: ObservedResponse): Promise<void> {
  let last = -1;
  for (let turns = 0; turns < settleTurns; turns++) {
    await nextEventLoopTurn();
    const now = own.news + undici.news;
    if (now !== last) turns = 0;
    last = now;
  }
}
