/**
 * Notices whether this process can reach the servers it calls. Without a name server, a route or a proxy, each call
 * fails at once, so a process that does not notice it has the fewest open turns and therefore gets even more of them.
 */
import type { HindranceFinding } from "@sluice/proto/lib/process/hindrances.js";
import type { Socket } from "node:net";

/** Minimum consecutive failures to connect, without an answer from any server in between, that count as a loss. */
const minFailures = 2;
/** Milliseconds after which a server that does not answer a probe counts as unreachable. */
const probeMs = 900;

/** Error codes for missing file descriptors, which are a hindrance of their own. */
const ofDescriptors: ReadonlySet<string> = new Set(["EMFILE", "ENFILE"]);

/** Opens a socket to a server. @param ready called when the socket is connected */
export type OpenSocket = (ready: () => void) => Socket;

export class Egress {
  #failures = 0;
  #open: OpenSocket | undefined;
  #code = "";
  #watcher: ((found: HindranceFinding) => void) | undefined;

  /** Notes that an answer has come. Called for each answer, so it must be cheap. */
  noteAnswer(): void {
    this.#failures = 0;
  }

  /** Notes a failure to connect. @param open opens another socket to the same server */
  noteFailure(open: OpenSocket, { code = "" }: NodeJS.ErrnoException): void {
    if (ofDescriptors.has(code)) return;
    this.#open = open;
    this.#code = code;
    if (++this.#failures === minFailures) this.#watcher?.(this.#finding);
  }

  /** Registers a watcher, which is called when no server seems to be reachable any more. */
  onLoss(watcher: (found: HindranceFinding) => void): void {
    this.#watcher = watcher;
  }

  /** Tries to reach the last unreachable server again. @returns undefined once this or any other server was reached */
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
