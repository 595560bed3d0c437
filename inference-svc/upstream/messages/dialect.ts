/** Any server that speaks the Messages format of Anthropic. */
import type { Dialect } from "../dialect.ts";
import { messagesError } from "./error.ts";
import { messagesRefusal } from "./refusal.ts";
import { messagesBody } from "./request.ts";
import { serverSentEvents } from "../sse.ts";
import { MessagesTranslator } from "./stream.ts";

/**
 * The version that servers of the format other than its vendor know, and the last one with samplers: 2026-10-21 answers 400 to them
 * (https://platform.claude.com/docs/en/api/versioning). A version is kept as it is once it is out.
 */
const version = "2023-06-01";

export const messages: Dialect = {
  path: () => "/messages",
  framing: serverSentEvents,
  headers: (key) => ({ "anthropic-version": version, ...(key !== undefined && { "x-api-key": key }) }),
  refusal: messagesRefusal,
  body: messagesBody,
  open: (request, target, emit) => new MessagesTranslator(request, target, emit),
  error: messagesError,
};
