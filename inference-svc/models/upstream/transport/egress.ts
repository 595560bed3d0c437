/**
 * Whether this process reaches the servers it calls. Without a name server, a route or a proxy each call fails at once, so a process that does not notice
 * has the fewest open turns and draws more of them.
 */
import type { HindranceFinding } from "@sluice/proto/lib/process/hindrances.js";
import type { Socket } from "node:net";

/** Consecutive failures to connect, without an answer from any server between them. */
const minFailures = 2;
/** A server that does not answer a probe for so long counts as unreachable. */
const probeMs = 900;

/** A process without descriptors has a cause of its own. */
const ofDescriptors: ReadonlySet<string> = new Set(["EMFILE", "ENFILE"]);

/** Opens a socket. @param ready called when it is connected */
export type OpenSocket = (ready: () => void) => Socket;

export class Egress {
  #failures = 0;
  #open: OpenSocket | undefined;
  #code = "";
  #watcher: ((found: HindranceFinding) => void) | undefined;

  /** An answer has come. Called for each answer, so it does no more than this. */
  noteAnswer(): void {
    this.#failures = 0;
  }

  /** @param open opens another socket to the same server */
  noteFailure(open: OpenSocket, { code = "" }: NodeJS.ErrnoException): void {
    if (ofDescriptors.has(code)) return;
    this.#open = open;
    this.#code = code;
    if (++this.#failures === minFailures) this.#watcher?.(this.#finding);
  }

  /** Calls the watcher when no server seems to be reachable any more. */
  onLoss(watcher: (found: HindranceFinding) => void): void {
    this.#watcher = watcher;
  }

  /** Tries the last unreachable server again. @returns undefined once it, or any other server, has been reached */
  async look(): Promise<HindranceFinding | undefined> {
    if (this.#failures >= minFailures && this.#open && (await connects(this.#open))) this.#failures = 0;
    return this.#failures >= minFailures ? this.#finding : undefined;
  }

  get #finding(): HindranceFinding {
    return { reason: `no connection to a server can be opened${this.#code && ` (${this.#code})`}`, isPartial: true };
  }
}

function connects(open: OpenSocket): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = open(() => end(true));
    const timer = setTimeout(() => end(false), probeMs);
    const end = (isConnected: boolean) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(isConnected);
    };
    socket.on("error", () => end(false)).on("close", () => end(false));
  });
}
