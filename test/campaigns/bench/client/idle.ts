/** Streams idle after their start: their clients read only comments. */
import type { Script } from "../script.ts";
import { openStream } from "./cancel.ts";
import type { Connection } from "./connection.ts";
import type { LoadTarget } from "./target.ts";

export const idleScript: Script = { kind: "silent" };

/** No more than this many are opened at the same time. */
const atOnce = 50;

export class IdleStreams {
  #connections: Connection[] = [];

  /** Settles when each has had its first delta. @throws when one ends before it */
  async open({ target, count }: { readonly target: LoadTarget; readonly count: number }): Promise<void> {
    while (this.#connections.length < count) {
      const missing = Math.min(atOnce, count - this.#connections.length);
      const opened = Array.from({ length: missing }, () => openStream(target, idleScript));
      this.#connections.push(...(await Promise.all(opened)));
    }
  }

  /** @returns how many were still open */
  close(): number {
    // An ended stream may have left its connection open.
    const open = this.#connections.filter(({ isBusy }) => isBusy).length;
    for (const connection of this.#connections) connection.close();
    this.#connections = [];
    return open;
  }
}
