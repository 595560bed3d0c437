/** A server on a raw socket with scripted answer bytes. */
import { once } from "node:events";
import { type AddressInfo, type Server, type Socket, createServer } from "node:net";
import type { ScriptedResponse } from "./generate.ts";

export const nextEventLoopTurn = (): Promise<void> => new Promise(setImmediate);

/** Waits from 3 on are milliseconds; smaller ones are turns of the event loop, of which a millisecond takes more than two. */
const slowFrom = 3;

/** A single exchange of a client. */
export interface ServedExchange {
  /** Number of the socket on which the request arrived. */
  readonly socket: number;
  /** Resolves when the script has been played. */
  readonly played: Promise<void>;
}

export class ScriptedServer {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #scripts = new Map<string, ScriptedResponse>();
  readonly #served = new Map<string, ServedExchange>();
  #count = 0;

  private constructor(server: Server) {
    this.#server = server;
    server.on("connection", (socket) => this.#accept(socket));
  }

  static async start(): Promise<ScriptedServer> {
    const server = createServer({ noDelay: true });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return new ScriptedServer(server);
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Sets the response to a request. @param path path of the request */
  script(path: string, response: ScriptedResponse): void {
    this.#scripts.set(path, response);
  }

  isServed(path: string): boolean {
    return this.#served.has(path);
  }

  /** Returns what happened to a request, and forgets it; undefined if the request has not arrived. */
  takeServed(path: string): ServedExchange | undefined {
    const served = this.#served.get(path);
    this.#served.delete(path);
    this.#scripts.delete(path);
    return served;
  }

  /** Ends all connections by a reset, which leaves nothing in the system's tables. */
  dropAll(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  async stop(): Promise<void> {
    this.dropAll();
    this.#server.close();
    await once(this.#server, "close");
  }

  #accept(socket: Socket): void {
    const number = ++this.#count;
    let text = "";
    this.#sockets.add(socket);
    socket.on("close", () => this.#sockets.delete(socket));
    socket.on("error", () => {});
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
      const bodyAt = text.indexOf("\r\n\r\n") + 4;
      const length = Number(/content-length: (\d+)/.exec(text)?.[1]);
      if (bodyAt < 4 || text.length < bodyAt + length) return;
      const path = text.split(" ", 2)[1] ?? "";
      text = text.slice(bodyAt + length);
      const response = this.#scripts.get(path);
      if (response) this.#served.set(path, { socket: number, played: play(socket, response) });
    });
  }
}

async function play(socket: Socket, { pieces, waits, ending }: ScriptedResponse): Promise<void> {
  for (const [index, piece] of pieces.entries()) {
    const turns = waits[index] ?? 0;
    if (turns >= slowFrom) await new Promise((resolve) => setTimeout(resolve, 1));
    else for (let turn = 0; turn < turns; turn++) await nextEventLoopTurn();
    if (socket.destroyed) return;
    socket.write(piece);
  }
  if (ending === "keep") return;
  // The end comes only after the client has read the pieces.
  while (socket.writableLength > 0 && !socket.destroyed) await nextEventLoopTurn();
  for (let turn = 0; turn < 4; turn++) await nextEventLoopTurn();
  if (ending === "close") socket.end();
  else socket.resetAndDestroy();
}
