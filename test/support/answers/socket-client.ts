/** A client that requests responses over a WebSocket. */
import { WebSocket } from "ws";

export interface ServerEvent {
  readonly type: string;
  readonly status?: number;
  readonly delta?: string;
  readonly error?: { readonly code: string; readonly message: string; readonly param: string | null };
  readonly response?: {
    readonly id: string;
    readonly status: string;
    readonly output: readonly { readonly content: readonly { readonly text: string }[] }[];
  };
}

const terminal = /^(?:error|response\.(?:completed|incomplete|failed))$/;

/** A client that keeps received events until the test takes them. */
export class SocketClient {
  readonly socket: WebSocket;
  readonly events: ServerEvent[] = [];
  #wake: () => void = () => {};

  /** @param localAddress address from which the client connects; any if undefined */
  constructor(port: number, headers: Readonly<Record<string, string>>, localAddress?: string) {
    const from = localAddress !== undefined && { localAddress };
    this.socket = new WebSocket(`ws://127.0.0.1:${port}/api/v1/responses`, { headers, ...from });
    this.socket.on("error", () => {});
    this.socket.on("message", (data) => {
      this.events.push(JSON.parse((data as Buffer).toString()) as ServerEvent);
      this.#wake();
    });
  }

  send(fields: object): void {
    this.socket.send(JSON.stringify({ type: "response.create", model: "acme/large-2", store: false, ...fields }));
  }

  /** Waits for the end of a response. @returns its events */
  async response(): Promise<ServerEvent[]> {
    for (;;) {
      const end = this.events.findIndex(({ type }) => terminal.test(type));
      if (end !== -1) return this.events.splice(0, end + 1);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  async ask(fields: object): Promise<ServerEvent[]> {
    this.send(fields);
    return await this.response();
  }
}

/** The text of a finished response. */
export const textOf = (events: readonly ServerEvent[]) => events.at(-1)?.response?.output[0]?.content[0]?.text;
