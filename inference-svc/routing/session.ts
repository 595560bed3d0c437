/** To which session a request belongs: requests of one session go to the same endpoint, whose cache knows them. */
import type { InputItem, TurnRequest } from "../turn/request.ts";

/** Conversations that begin with so many equal characters may share an endpoint. */
const fingerprintCharacters = 2_048;

/** What the client calls it, else how the conversation begins; undefined when neither says anything. */
export const sessionOf = (request: TurnRequest): string | undefined =>
  request.sessionId || request.promptCacheKey || fingerprint(request);

export const isNamedSession = ({ sessionId, promptCacheKey }: TurnRequest): boolean =>
  Boolean(sessionId || promptCacheKey);

/** The first system message and the first of the user: they stay when the conversation grows. */
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
