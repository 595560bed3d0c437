/** Streams that are idle after their start: clients receive only comments. */
import type { Script } from "../script.ts";
import { openStream } from "./cancel.ts";
import type { Connection } from "./connection.ts";
import type { LoadTarget } from "./target.ts";

export const idleScript: Script = { kind: "silent" };

/** Maximum number of streams being opened at the same time. */
const atOnce = 50;

export class IdleStreams {
  #connections: Connection[] = [];

  /** Opens streams; the promise resolves once each has had its first delta. @throws if a stream ends before it */
  async open({ target, count }: { readonly target: LoadTarget; readonly count: number }): Promise<void> {
    while (this.#connections.length < count) {
      const missing = Math.min(atOnce, count - this.#connections.length);
      const opened = Array.from({ length: missing }, () => openStream(target, idleScript));
      this.#connections.push(...(await Promise.all(opened)));
    }
  }

  /** Closes all streams. @returns the number of streams that were still open */
  close(): number {
    // A stream may have ended without closing its connection.
    const open = this.#connections.filter(({ isBusy }) => isBusy).length;
    for (const connection of this.#connections) connection.close();
    this.#connections = [];
    return open;
  }
}
