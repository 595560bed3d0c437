/** A connection between two processes that a test can cut: bytes pass, or stop passing, or the connection is reset. */
import { once } from "node:events";
import { type Server, type Socket, connect, createServer } from "node:net";
import { freePort } from "./runner/free-ports.ts";

export interface LinkTarget {
  readonly host: string;
  readonly port: number;
}

export class Link {
  readonly #sockets = new Set<Socket>();
  #targets: readonly LinkTarget[];
  #next = 0;
  #server: Server | undefined;
  #port = 0;
  #frozen = false;

  /** @param targets processes that can take each other's place: connections go to them in turn, except to those that accept none */
  constructor(...targets: readonly LinkTarget[]) {
    this.#targets = targets;
  }

  get port(): number {
    return this.#port;
  }

  async listen(): Promise<void> {
    // The port is outside of the range of outgoing connections, one of which could take it while the link is cut.
    this.#port = await freePort();
    await this.restore();
  }

  /** Resets every connection, and refuses new ones. */
  async cut(): Promise<void> {
    const closed = new Promise((resolve) => this.#server?.close(resolve));
    this.reset();
    await closed;
  }

  /** Resets every connection, but accepts new ones. */
  reset(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  /** Stops all bytes; the connections stay open. */
  freeze(): void {
    this.#frozen = true;
    for (const socket of this.#sockets) socket.pause();
  }

  thaw(): void {
    this.#frozen = false;
    for (const socket of this.#sockets) socket.resume();
  }

  async restore(): Promise<void> {
    const server = createServer((near) => this.#join(near, this.#targets.length));
    this.#server = server;
    server.listen(this.#port, "127.0.0.1");
    await once(server, "listening");
  }

  /** Leads new connections to other targets; open connections stay. */
  lead(...targets: readonly LinkTarget[]): void {
    this.#targets = targets;
  }

  /** Leads new connections to other targets, and resets open ones. */
  retarget(...targets: readonly LinkTarget[]): void {
    this.lead(...targets);
    this.reset();
  }

  /** @param left number of targets that may still be tried */
  #join(near: Socket, left: number): void {
    const far = connect(this.#targets[this.#next++ % this.#targets.length] as LinkTarget);
    this.#sockets.add(near);
    const leave = () => {
      far.destroy();
      this.#drop(near);
    };
    const fail = () => {
      near.off("close", leave).off("error", leave);
      if (left > 1 && !near.destroyed) this.#join(near, left - 1);
      else this.#drop(near);
    };
    near.once("close", leave).once("error", leave);
    far.once("error", fail);
    far.once("connect", () => {
      far.off("error", fail);
      near.off("close", leave).off("error", leave);
      this.#pass(near, far);
      this.#pass(far, near);
    });
  }

  #drop(socket: Socket): void {
    this.#sockets.delete(socket);
    socket.destroy();
  }

  #pass(from: Socket, to: Socket): void {
    this.#sockets.add(from);
    from.on("data", (bytes) => to.write(bytes));
    from.on("error", () => to.destroy());
    from.on("close", () => {
      this.#drop(from);
      to.destroySoon();
    });
    if (this.#frozen) from.pause();
  }
}
