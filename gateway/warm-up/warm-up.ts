/**
 * Serves requests before the process is ready, so that its first real requests do not wait for the compilation of common code. The warm-up requests
 * pass through a separate gateway in this process: the same code from the HTTP port to the lane, but its own policy, limits, metrics and log.
 * Everything listens on the loopback address and is closed afterwards.
 */
import { Agent, request } from "node:http";
import { edgeSchema } from "@sluice/proto/config/config-file.js";
import { KeyKind, mintKey } from "@sluice/proto/lib/ids/key.js";
import type { ProcessDeps } from "@sluice/proto/lib/process/process-parts.js";
import type { Connect } from "@sluice/proto/lib/lane/link.js";
import { openAdminPeer } from "@sluice/proto/lib/warm-up/admin-peer.js";
import { createWarmUpParts } from "@sluice/proto/lib/warm-up/parts.js";
import { type Peer, loopback } from "@sluice/proto/lib/warm-up/peer.js";
import { repeat } from "@sluice/proto/lib/warm-up/repeat.js";
import type { Settings } from "../config.ts";
import { openGateway } from "../gateway.ts";
import { responsesPath } from "../edge/http/turn-head.ts";
import { openInferencePeer } from "./inference-peer.ts";

/** The inference service that answers the requests of the warm-up. */
export interface InferencePeer extends Peer {
  /** Opens sessions with a real inference service in this process. */
  readonly connectHere?: Connect;
}

export async function warmUp(
  settings: Settings,
  limitMs: number,
  openInference: (parts: ProcessDeps) => Promise<InferencePeer> = openInferencePeer,
): Promise<void> {
  const parts = createWarmUpParts("gateway", settings.SLUICE_LOG_LEVEL);
  const { lifecycle } = parts;
  const admin = await openAdminPeer(parts);
  const inference = await openInference(parts);
  const { port, access, pool } = await openGateway({
    ...parts,
    configRefusal: () => undefined,
    settings: {
      ...settings,
      SLUICE_HOST: loopback,
      SLUICE_PORT: 0,
      SLUICE_ADMIN_ADDRESS: [admin.address],
      SLUICE_INFERENCE_ADDRESSES: [inference.address],
      REDIS_URL: undefined,
    },
    config: { current: edgeSchema.parse({}) },
    connectHere: inference.connectHere,
  });
  const agent = new Agent({ keepAlive: true });
  try {
    await pool.start();
    await access.watch();
    await pool.greeted();
    lifecycle.started();
    const to = { agent, host: loopback, port, method: "POST", path: responsesPath };
    const clients = createClients(`${loopback}:${port}`).map((headers) => ({ ...to, headers }));
    await repeat(limitMs, (number) =>
      sendRequest(clients[number % clients.length] as object, bodies[number % bodies.length] as Buffer),
    );
  } finally {
    agent.destroy();
    await lifecycle.drain(0);
    await Promise.all([inference.close(), admin.close()]);
  }
}

/** Sends a request; the promise resolves at the end of its answer. @throws for a failure, which would only warm up the code for failures */
function sendRequest(options: object, body: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    const sent = request(options, (response) => {
      if (response.statusCode !== 200) reject(new Error(`a turn was answered with ${response.statusCode}`));
      response.on("end", resolve).on("error", reject).resume();
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

/** Headers of three clients, because V8 optimizes code for the names and order of the headers. */
function createClients(host: string): readonly object[] {
  const authorization = `Bearer ${mintKey(KeyKind.INFERENCE)}`;
  const type = { "content-type": "application/json" };
  const program = { accept: "application/json", ...type, "user-agent": "Client/1.0", authorization };
  return [
    { host, authorization, ...type },
    { host, "accept-encoding": "gzip, deflate", connection: "keep-alive", ...program },
    { ...program, "x-retry-count": "0", host, connection: "keep-alive" },
  ];
}

const text = "What does a gateway between applications and the providers of models do? ".repeat(14);
const instructions = "Be brief.";
const parameters = { type: "object", properties: { word: { type: "string" } }, required: ["word"] };
const tools = [{ type: "function", name: "look_up", description: "Looks a word up.", parameters }];

/** Bodies of the requests: half of them stream, half have instructions, half have a tool. */
const bodies: readonly Buffer[] = [
  { input: text, instructions, stream: false },
  { input: [{ role: "user", content: [{ type: "input_text", text }] }], stream: true },
  { input: [{ role: "user", content: text }], tools },
  { input: text, instructions, tools, stream: true },
].map((members) => Buffer.from(JSON.stringify({ model: "warm-up/echo", ...members })));
