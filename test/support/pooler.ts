/**
 * A pooler between a service and Postgres, with the modes of PgBouncer: connections of clients share open sessions. It gives each transaction, or
 * each statement, the next session; in session mode, each client keeps one.
 */
import { once } from "node:events";
import { type AddressInfo, type Server, type Socket, createServer } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";

export interface PoolerOptions {
  readonly databaseUrl: string;
  readonly mode: "session" | "transaction";
  /** Number of sessions that the clients share. */
  readonly sessions: number;
}

interface Session {
  readonly client: pg.Client;
  readonly socket: Socket;
  owner: Socket | undefined;
}

const readyForQuery = "Z".charCodeAt(0);
const [query, sync, terminate] = ["Q", "S", "X"].map((letter) => letter.charCodeAt(0));
const idle = "I".charCodeAt(0);

/** Splits bytes into messages of the Postgres protocol, each of which has a letter and a length. @returns the rest */
function splitMessages(bytes: Buffer, onMessage: (message: Buffer) => void): Buffer {
  let rest = bytes;
  while (rest.length >= 5 && rest.length > rest.readUInt32BE(1)) {
    const end = rest.readUInt32BE(1) + 1;
    onMessage(rest.subarray(0, end));
    rest = rest.subarray(end);
  }
  return rest;
}

export class Pooler {
  readonly #options: PoolerOptions;
  readonly #sessions: Session[] = [];
  readonly #server: Server;
  readonly #clients = new Set<Socket>();

  constructor(options: PoolerOptions) {
    this.#options = options;
    this.#server = createServer((client) => this.#serve(client));
  }

  /** @returns the database's URL through the pooler */
  async open(): Promise<string> {
    for (let n = 0; n < this.#options.sessions; n++) {
      const client = new pg.Client({ connectionString: this.#options.databaseUrl });
      client.on("error", () => {});
      await client.connect();
      const { stream } = (client as unknown as { connection: { stream: Socket } }).connection;
      stream.removeAllListeners("data");
      stream.resume();
      this.#sessions.push({ client, socket: stream, owner: undefined });
    }
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    const url = new URL(this.#options.databaseUrl);
    url.host = `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    return url.href;
  }

  async close(): Promise<void> {
    for (const client of this.#clients) client.destroy();
    for (const { socket } of this.#sessions) socket.destroy();
    this.#server.close();
    await once(this.#server, "close");
  }

  #serve(client: Socket): void {
    this.#clients.add(client);
    let session: Session | undefined;
    let started = false;
    let waiting: Buffer = Buffer.alloc(0);
    let asked: Buffer[] = [];
    let work = Promise.resolve();
    const leave = () => {
      if (session) session.owner = undefined;
      session = undefined;
    };
    const exchange = async (bytes: Buffer) => {
      session ??= await this.#take(client);
      if (session) await answer(session.socket, bytes, client, this.#options.mode === "transaction" ? leave : () => {});
    };
    client.on("error", () => {});
    client.on("close", leave);
    client.on("data", (bytes) => {
      waiting = Buffer.concat([waiting, bytes]);
      if (!started) {
        const length = waiting.readUInt32BE(0);
        waiting = waiting.subarray(length);
        started = true;
        client.write(greeting);
      }
      waiting = splitMessages(waiting, (message) => {
        if (message[0] === terminate) return void client.end();
        asked.push(message);
        if (message[0] !== query && message[0] !== sync) return;
        const batch = Buffer.concat(asked);
        asked = [];
        work = work.then(() => exchange(batch));
      });
    });
  }

  /** Takes the free session that was used last, like PgBouncer. */
  async #take(client: Socket): Promise<Session | undefined> {
    while (!client.destroyed) {
      const free = this.#sessions.findIndex(({ owner }) => owner === undefined);
      const [session] = free < 0 ? [] : this.#sessions.splice(free, 1);
      if (session) {
        session.owner = client;
        this.#sessions.unshift(session);
        return session;
      }
      await delay(1);
    }
    return undefined;
  }
}

/** Messages to a new client: authentication is over, and the session is ready. */
const greeting = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5a, 0, 0, 0, 5, idle]);

/** Sends a batch, and passes replies on until the session is ready again. @param ended called if the batch leaves no transaction open */
function answer(session: Socket, batch: Buffer, client: Socket, ended: () => void): Promise<void> {
  return new Promise((resolve) => {
    let rest: Buffer = Buffer.alloc(0);
    const receive = (bytes: Buffer) => {
      rest = splitMessages(Buffer.concat([rest, bytes]), (message) => {
        const isReady = message[0] === readyForQuery;
        if (isReady && message[5] === idle) ended();
        client.write(message);
        if (!isReady) return;
        session.off("data", receive);
        resolve();
      });
    };
    session.on("data", receive);
    session.write(batch);
  });
}
