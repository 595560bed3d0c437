/** A page watching open turns: server-sent events with one snapshot per second while the session lives. */
import type { ServerResponse } from "node:http";
import type { LiveTurns, Watcher } from "./live.ts";

const headers = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-store",
  "x-accel-buffering": "no",
};

export class LiveStream implements Watcher {
  readonly #response: ServerResponse;
  readonly #lives: () => Promise<boolean>;

  /** @param lives whether the session is still valid */
  constructor(response: ServerResponse, lives: () => Promise<boolean>) {
    this.#response = response;
    this.#lives = lives;
  }

  start(live: LiveTurns, keyHash: string): void {
    this.#response.writeHead(200, headers);
    this.#response.flushHeaders();
    this.#response.on("close", live.watch({ keyHash }, this));
  }

  see(json: string): void {
    // A page that has not read the previous snapshot skips this one.
    if (this.#response.writableNeedDrain) return;
    this.#lives().then(
      (alive) => this.#write(alive, json),
      // While admin-svc is unreachable, the session's state is unknown; the next snapshot tries again.
      () => {},
    );
  }

  stop(): void {
    this.#response.end();
  }

  #write(alive: boolean, json: string): void {
    if (this.#response.writableEnded) return;
    if (alive) this.#response.write(`data: ${json}\n\n`);
    else this.#response.end("event: over\ndata: {}\n\n");
  }
}
