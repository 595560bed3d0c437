/**
 * Distributes connections over the gateways of a cluster: each new connection goes to a ready gateway, and stays there. Readiness is polled, so a
 * change is noticed late, as in a cluster.
 */
import { once } from "node:events";
import { get } from "node:http";
import { type AddressInfo, type Server, type Socket, connect, createServer } from "node:net";

export interface Backend {
  readonly port: number;
  readonly healthPort: number;
}

const askEveryMs = 100;

export class Balancer {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #ready = new Map<Backend, boolean>();
  readonly #timer: NodeJS.Timeout;
  #turn = 0;

  private constructor() {
    this.#server = createServer({ allowHalfOpen: true }, (socket) => this.#give(socket));
    this.#timer = setInterval(() => void this.#askAll(), askEveryMs);
  }

  static async start(): Promise<Balancer> {
    const balancer = new Balancer();
    balancer.#server.listen(0, "127.0.0.1");
    await once(balancer.#server, "listening");
    return balancer;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  add(backend: Backend): void {
    this.#ready.set(backend, false);
  }

  remove(backend: Backend): void {
    this.#ready.delete(backend);
  }

  isReady(backend: Backend): boolean {
    return this.#ready.get(backend) === true;
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  async #askAll(): Promise<void> {
    for (const backend of this.#ready.keys()) {
      const ready = await isReady(backend.healthPort);
      if (this.#ready.has(backend)) this.#ready.set(backend, ready);
    }
  }

  #give(client: Socket): void {
    const ready = [...this.#ready].filter(([, is]) => is).map(([backend]) => backend);
    const backend = ready[this.#turn++ % ready.length];
    if (!backend) return void client.destroy();
    const server = connect({ port: backend.port, host: "127.0.0.1", allowHalfOpen: true });
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(socket);
      socket.pipe(other);
      socket.on("error", () => other.destroy());
      socket.on("close", () => {
        this.#sockets.delete(socket);
        other.destroySoon();
      });
    }
  }
}

/** Whether /readyz answers 200. */
export function isReady(healthPort: number): Promise<boolean> {
  return new Promise((resolve) => {
    const request = get({ host: "127.0.0.1", port: healthPort, path: "/readyz", agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    request.on("error", () => resolve(false));
  });
}
