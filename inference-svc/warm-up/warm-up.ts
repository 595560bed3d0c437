/**
 * Runs turns before the process is ready, so that its first requests do not pay for compiling what every request runs.
 *
 * They run through the parts of an inference-svc of their own in this process: the same code from the session to the provider, with a
 * ledger, a policy, metrics and a log that nothing else sees. Everything listens on the loopback address and is gone afterwards.
 */
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { type RunTurnRequest, RunTurnRequestSchema } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { houseSchema } from "@sluice/proto/runtime/house-file.js";
import { openAdminPeer } from "@sluice/proto/runtime/warm-up/admin-peer.js";
import { createWarmUpParts } from "@sluice/proto/runtime/warm-up/parts.js";
import { loopback } from "@sluice/proto/runtime/warm-up/peer.js";
import { repeat } from "@sluice/proto/runtime/warm-up/repeat.js";
import type { Settings } from "../config.ts";
import { openInference } from "../inference.ts";
import { noPackages } from "../upstream/ai-sdk/load.ts";
import { openProviderPeer } from "./provider-peer.ts";
import { SessionClient } from "./session-client.ts";

const model = "warm-up/echo";
const keyHash = "0".repeat(64);

const houseFile = (baseUrl: string) =>
  houseSchema.parse({
    providers: [{ id: "warm-up", dialect: "chat", base_url: baseUrl, api_keys: ["none"] }],
    models: [
      {
        id: model,
        endpoints: [{ provider: "warm-up", pricing: { prompt: "1", completion: "1" } }],
      },
    ],
  });

export async function warmUp(settings: Settings, limitMs: number): Promise<void> {
  const parts = createWarmUpParts("inference-svc", settings.SLUICE_LOG_LEVEL);
  const { lifecycle, token } = parts;
  const spool = join(settings.SLUICE_SPOOL_DIR, "warm-up");
  // A start that was killed during its warm-up leaves the folder.
  rmSync(spool, { recursive: true, force: true });
  mkdirSync(spool, { recursive: true });
  const admin = await openAdminPeer(parts);
  const provider = await openProviderPeer();
  const { server, access } = await openInference({
    ...parts,
    settings: {
      ...settings,
      SLUICE_INTERNAL_HOST: loopback,
      SLUICE_INFERENCE_PORT: 0,
      SLUICE_INFERENCE_HTTP_PORT: undefined,
      SLUICE_ADMIN_ADDRESS: [admin.address],
      SLUICE_SPOOL_DIR: spool,
      REDIS_URL: undefined,
    },
    file: houseFile(provider.baseUrl),
    packages: noPackages,
  });
  const session = new SessionClient(`${loopback}:${server.port}`, token);
  try {
    await access.watch();
    await repeat(limitMs, (number) => session.run(requestOf(number), keyHash));
  } finally {
    session.close();
    await lifecycle.drain(0);
    await admin.close();
    provider.close();
    rmSync(spool, { recursive: true });
  }
}

const text = "What does a gateway between applications and the providers of models do? ".repeat(14);
const tool = { type: "function", name: "look_up", description: "Looks a word up.", strict: null };
const parameters = { type: "object", properties: { word: { type: "string" } }, required: ["word"] };

const inputs: readonly unknown[] = [
  text,
  [{ type: "message", role: "user", content: [{ type: "input_text", text }] }],
  [
    { type: "message", role: "system", content: "Be brief." },
    { type: "message", role: "user", content: text },
    { type: "message", role: "assistant", content: [{ type: "output_text", text: "Much.", annotations: [] }] },
    { type: "message", role: "user", content: [{ type: "input_text", text: "Such as?" }] },
  ],
];

/** Half of the requests stream, half have a tool, and half have instructions. */
function requestOf(number: number): RunTurnRequest {
  return create(RunTurnRequestSchema, {
    model,
    inputJson: jsonBytes(inputs[number % inputs.length]),
    stream: number % 2 === 1,
    ...(number % 8 < 4 && { instructions: "Be brief." }),
    ...(number % 4 > 1 && { toolsJson: jsonBytes([{ ...tool, parameters }]) }),
  });
}

const jsonBytes = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));
