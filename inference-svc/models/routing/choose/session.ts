/** Finds the session of a request. Requests of one session are sent to the same endpoint, which has cached their beginning. */
import type { InputItem, TurnRequest } from "../../../turn/request.ts";

/** Characters of a conversation that make its fingerprint: conversations with the same beginning of this length may share an endpoint. */
const fingerprintCharacters = 2_048;

/** The session's name given by the client, else a fingerprint of the conversation. @returns undefined when the request has neither */
export const findSession = (request: TurnRequest): string | undefined =>
  request.sessionId || request.promptCacheKey || fingerprint(request);

/** The first system message and the first user message, which stay when the conversation grows. */
function fingerprint({ instructions, input }: TurnRequest): string | undefined {
  const user = input.find(({ role }) => role === "user");
  if (user === undefined) return undefined;
  const system = instructions ?? input.find(({ role }) => role === "system" || role === "developer");
  return `${beginning(system)}\0${beginning(user)}`;
}

function beginning(message: InputItem | string | undefined): string {
  const content = typeof message === "object" ? message.content : message;
  if (!Array.isArray(content)) return start(content);
  const parts = content as Readonly<Record<string, unknown>>[];
  return start(
    parts.map((part) => start(part["text"] ?? part["image_url"] ?? part["file_url"] ?? part["file_id"])).join("\0"),
  );
}

const start = (text: unknown): string => (typeof text === "string" ? text.slice(0, fingerprintCharacters) : "");
