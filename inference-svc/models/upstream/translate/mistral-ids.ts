/**
 * Converts call ids for Mistral's models, whose servers answer 400 to any but nine letters and digits
 * (https://docs.mistral.ai/capabilities/function_calling, and "Tool call id was ... but must be a-z, A-Z, 0-9, with a
 * length of 9").
 */
import { createHash } from "node:crypto";
import { text } from "../json.ts";

const models = /(?:mistral|ministral|mixtral|magistral|codestral|pixtral|devstral|voxtral)/i;

/** Whether a model is one of Mistral's, at any server. */
export const isMistral = (upstreamModel: string): boolean => models.test(upstreamModel);

const nine = /^[A-Za-z0-9]{9}$/;

/** An id of nine letters and digits. Different ids stay different, and an id is converted alike in every turn. */
export function toMistralId(callId: unknown): string {
  const id = text(callId);
  return nine.test(id) ? id : createHash("sha256").update(id).digest("hex").slice(0, 9);
}
