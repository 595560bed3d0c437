/** A server that simulates another service while a process warms up. It listens on the loopback address. */
import { Lifecycle } from "../process/lifecycle.ts";
import type { ProcessDeps } from "../process/process-parts.ts";
import { type RpcServerOptions, serveRpc } from "../rpc/serve.ts";

/** Address used only for the warm-up. */
export const loopback = "127.0.0.1";

export interface Peer {
  /** Address as host:port. */
  readonly address: string;
  close(): Promise<void>;
}

/** Starts the server. It only serves callers with the token, which no other process knows. */
export async function openPeer(
  { log, token }: Pick<ProcessDeps, "log" | "token">,
  calls: Pick<RpcServerOptions, "routes" | "internalCalls">,
): Promise<Peer> {
  const lifecycle = new Lifecycle(log);
  const server = await serveRpc({ ...calls, port: 0, host: loopback, lifecycle, log, token, services: [] });
  return { address: `${loopback}:${server.port}`, close: () => server.drain() };
}
