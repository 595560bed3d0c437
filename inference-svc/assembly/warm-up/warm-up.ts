/**
 * Runs turns before the process is ready, so its first real requests do not pay for compiling common code. The turns
 * pass through all code from the session to the provider.
 */
import { create } from "@bufbuild/protobuf";
import { type RunTurnRequest, RunTurnRequestSchema } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { repeat } from "@sluice/proto/lib/warm-up/repeat.js";
import type { Settings } from "../config.ts";
import { model, openWarmUpService } from "./service.ts";
import { SessionClient } from "./session-client.ts";

const keyHash = "0".repeat(64);

export async function warmUp(settings: Settings, limitMs: number): Promise<void> {
  const service = await openWarmUpService(settings);
  const session = new SessionClient(service.address, service.token);
  try {
    await repeat(limitMs, (number) => session.run(requestOf(number), keyHash));
  } finally {
    session.close();
    await service.close();
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

/** The request of a warm-up turn: half of the requests stream, half have a tool, and half have instructions. */
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
