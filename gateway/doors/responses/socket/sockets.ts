/** Opens WebSockets at the path of POST /responses. */
import { type IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { type Registry, gauge } from "@sluice/proto/lib/metrics/metrics.js";
import { isKeyRefusal, requireAllowedNetwork } from "@sluice/proto/lib/policy/allowed-networks.js";
import { invalidKey } from "@sluice/proto/lib/rpc/caller.js";
import { untraced } from "@sluice/proto/lib/tracing/context.js";
import { WebSocketServer } from "ws";
import { readKeyHash } from "../../../edge/http/auth.ts";
import type { Exchange } from "../../../edge/http/context.ts";
import { writeFault } from "../../../edge/http/errors.ts";
import { beginExchange, closeExchange } from "../../../edge/http/exchange.ts";
import { LoadShedding } from "../../../edge/http/load-shedding.ts";
import { auditedCall, pathIn } from "../../../edge/http/path.ts";
import { responsesPath } from "../../../edge/http/turn-head.ts";
import type { TurnRouteDeps } from "../../../edge/turns/route.ts";
import { ResponseSocket } from "./connection.ts";

export interface SocketDeps extends TurnRouteDeps {
  /** Whether scripts of pages with this origin may connect. */
  readonly allowsOrigin: (origin: string) => boolean;
}

export class ResponseSockets {
  readonly #parts: SocketDeps;
  readonly #shedding: LoadShedding;
  readonly #server: WebSocketServer;
  readonly #open = new Set<ResponseSocket>();

  constructor(parts: SocketDeps, registry: Registry) {
    this.#parts = parts;
    this.#shedding = new LoadShedding(parts);
    this.#server = new WebSocketServer({ noServer: true, clientTracking: false, perMessageDeflate: false });
    gauge(registry, "sluice_websockets", "Open WebSockets.", () => this.#open.size);
  }

  /** Whether a request asks for a WebSocket at the path of /responses. Any other request with an Upgrade header is served as plain HTTP. */
  takes({ method, url = "", headers }: IncomingMessage): boolean {
    return method === "GET" && headers.upgrade?.toLowerCase() === "websocket" && pathIn(url) === responsesPath;
  }

  /** Opens a WebSocket, or refuses it with an HTTP answer. @param head first bytes received after the headers */
  async upgrade(request: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    try {
      const keyHash = await this.#admit(request);
      if (socket.destroyed) return;
      this.#server.options.maxPayload = this.#parts.limits.body_bytes;
      this.#server.handleUpgrade(request, socket, head, (opened) => {
        const connection = new ResponseSocket(
          { parts: this.#parts, shedding: this.#shedding, request, keyHash },
          opened,
        );
        this.#open.add(connection);
        opened.on("close", () => this.#open.delete(connection));
      });
    } catch (error) {
      await this.#refuse(request, socket, Fault.from(error));
    }
  }

  /** Closes idle connections at once, and others after their response. */
  drain(): void {
    for (const connection of this.#open) connection.drain();
  }

  /** Checks the origin and the key of a request. @returns the hash of the key @throws Fault */
  async #admit(request: IncomingMessage): Promise<string> {
    const { origin } = request.headers;
    if (origin !== undefined && !this.#parts.allowsOrigin(origin)) {
      throw new Fault(
        FaultReason.PERMISSION_DENIED,
        "Pages of this origin may not connect: cors.allow_origins lists those that may",
        {
          origin: FaultOrigin.CLIENT,
        },
      );
    }
    const keyHash = readKeyHash(request);
    const { caller } = await this.#parts.access.resolve(keyHash, undefined, untraced);
    if (!caller) throw invalidKey();
    const address = this.#parts.addressOf(request);
    try {
      requireAllowedNetwork(caller.allowedNetworks, address);
    } catch (error) {
      await this.#parts.networkRefusals.note(caller, auditedCall(request), { address });
      throw error;
    }
    return keyHash;
  }

  async #refuse(request: IncomingMessage, socket: Socket, fault: Fault): Promise<void> {
    const exchange = { req: request, res: new ServerResponse(request) } as Exchange;
    beginExchange(this.#parts, exchange);
    exchange.route = responsesPath;
    exchange.fault = fault;
    const { res: response, requestId } = exchange;
    if (isKeyRefusal(fault)) await this.#parts.keylessLimiter.admit(request);
    // If the client left during the delay, the socket emits no further event.
    if (socket.destroyed) return closeExchange(exchange);
    response.shouldKeepAlive = false;
    response.assignSocket(socket);
    response.on("finish", () => socket.destroySoon());
    response.on("close", () => closeExchange(exchange));
    writeFault(response, fault, { requestId });
  }
}
