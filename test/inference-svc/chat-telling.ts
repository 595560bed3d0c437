/** What a chat endpoint is told of a turn, and what it is not told. */
import type { TurnRequest } from "@sluice/inference-svc/turn/request.js";
import { chatBody } from "@sluice/inference-svc/upstream/chat/request.js";
import { chatRefusal } from "@sluice/inference-svc/upstream/chat/refusal.js";
import type { Refusal, Target } from "@sluice/inference-svc/upstream/dialect.js";
import { asking } from "./asking.js";

export const otherChat: Target = { upstreamModel: "m", tier: "default", original: false };
/** The vendor of the format. */
export const vendorChat: Target = { ...otherChat, original: true };

export interface Told {
  readonly text: string;
  readonly body: Record<string, unknown>;
  /** Path and reason. */
  readonly losses: [string, string][];
}

/** Fails for what would have been refused: nobody is told that. */
export function chatTold(request: Partial<TurnRequest>, target: Target): Told {
  const whole = asking(request);
  const refusal = chatRefusal(whole, target);
  if (refusal) throw new Error(`refused: ${refusal.path}: ${refusal.message}`);
  const losses: [string, string][] = [];
  const text = chatBody(whole, target, (path, reason) => void losses.push([path, reason]));
  return { text, body: JSON.parse(text) as Record<string, unknown>, losses };
}

export const chatOf = (request: Partial<TurnRequest>, target = otherChat) => chatTold(request, target).body;

export const chatRefused = (request: Partial<TurnRequest>, target = otherChat): Refusal | undefined =>
  chatRefusal(asking(request), target);
