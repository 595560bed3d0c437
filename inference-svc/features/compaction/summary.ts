/** The summary of a conversation: the request for it, and its text for later turns. */
import { isObject } from "@sluice/proto/lib/validation/fields.js";
import { writeTranscript } from "../../content/transcript.ts";
import { bareRequest } from "../../turn/bare-request.ts";
import type { InputItem, TurnRequest } from "../../turn/request.ts";

/** The encrypted content of a compacted conversation. */
export interface CompactedState {
  readonly summary: string;
  /** Texts of the user's messages, oldest first. */
  readonly said: readonly string[];
}

const instructions = `You shorten conversations between a user and an assistant that works with tools, so that the assistant can go on without the rest.
Write what it needs to go on: the goal, decisions and their reasons, constraints that the user named, what was done and what it showed, files and places by name, errors and what they were, and the next steps.
Keep names, paths, numbers and commands exactly. Leave out what no longer matters. Do not go on with the work, and answer no question in it.`;

/** Maximum characters of user messages kept verbatim; older messages are only in the summary. */
const maxSaidLength = 40_000;

/**
 * The request for a summary. It contains the conversation as one text, because models reject calls of tools missing
 * from the request.
 * @param model model that writes the summary; undefined for the request's models
 */
export function toSummaryRequest(
  request: TurnRequest,
  model: string | undefined,
  maxOutputTokens: number,
): TurnRequest {
  const transcript = writeTranscript(request, request.input);
  const { sessionId, provider, identityHash, identityField, door, echoUpstreamBody, serviceMetadata } = request;
  return {
    ...bareRequest({ models: model === undefined ? request.models : [model] }),
    instructions,
    input: [{ type: "message", role: "user", content: `<conversation>\n${transcript}\n</conversation>` }],
    maxOutputTokens,
    echoUpstreamBody,
    serviceMetadata,
    ...(sessionId !== undefined && { sessionId }),
    ...(provider !== undefined && model === undefined && { provider }),
    ...(identityHash !== undefined && identityField !== undefined && { identityHash, identityField }),
    ...(door !== undefined && { door }),
  };
}

/** The user messages kept verbatim next to the summary. */
export function userMessageTexts(input: readonly InputItem[]): string[] {
  const said: string[] = [];
  let left = maxSaidLength;
  for (const { type, role, content } of input.toReversed()) {
    if (type !== "message" || role !== "user") continue;
    const text = textOf(content);
    left -= text.length;
    if (left < 0) break;
    if (text !== "") said.unshift(text);
  }
  return said;
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  const texts = content.flatMap((part: unknown) =>
    isObject(part) && typeof part["text"] === "string" ? part["text"] : [],
  );
  return texts.join("\n");
}

/** The item that replaces the conversation in a later turn. */
export const summaryItem = ({ summary, said }: CompactedState): InputItem => ({
  type: "message",
  role: "user",
  content: [
    {
      type: "input_text",
      text:
        `The conversation before this point was shortened. Its summary:\n\n${summary}` +
        (said.length === 0 ? "" : `\n\nThe user said:\n\n${said.map((text) => `- ${text}`).join("\n")}`),
    },
  ],
});

/** Reads a decrypted state. @returns undefined for any other value */
export function parseCompactedState(state: unknown): CompactedState | undefined {
  if (!isObject(state)) return undefined;
  const { summary, said } = state;
  return typeof summary === "string" && Array.isArray(said) ? { summary, said: said.map(String) } : undefined;
}
