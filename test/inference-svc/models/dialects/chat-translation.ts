/** The outgoing chat request of a turn, with its dropped fields. */
import type { TurnRequest } from "@sluice/inference-svc/turn/request.js";
import { chatBody } from "@sluice/inference-svc/models/upstream/chat/request.js";
import { refuseChat } from "@sluice/inference-svc/models/upstream/chat/dialect.js";
import type { Refusal, Target } from "@sluice/inference-svc/models/upstream/dialect.js";
import { testRequest } from "../../asking.js";

export const otherChat: Target = { upstreamModel: "m", tier: "default", original: false };
/** The vendor of the format. */
export const vendorChat: Target = { ...otherChat, original: true };

export interface TranslatedChat {
  readonly text: string;
  readonly body: Record<string, unknown>;
  /** Fields left out of the body: the path of each, and the reason. */
  readonly losses: [string, string][];
}

/** Fails for a refusable request: it is never translated. */
export function translateChat(request: Partial<TurnRequest>, target: Target): TranslatedChat {
  const whole = testRequest(request);
  const refusal = refuseChat(whole, target);
  if (refusal) throw new Error(`refused: ${refusal.path}: ${refusal.message}`);
  const losses: [string, string][] = [];
  const text = chatBody(whole, target, (path, reason) => void losses.push([path, reason]));
  return { text, body: JSON.parse(text) as Record<string, unknown>, losses };
}

export const buildChatBody = (request: Partial<TurnRequest>, target = otherChat) => translateChat(request, target).body;

export const refuseChatRequest = (request: Partial<TurnRequest>, target = otherChat): Refusal | undefined =>
  refuseChat(testRequest(request), target);
