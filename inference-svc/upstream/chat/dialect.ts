/** Any server that is compatible with OpenAI's chat completions. */
import { bearer } from "../bearer.ts";
import type { Dialect } from "../dialect.ts";
import { chatError } from "./error.ts";
import { chatRefusal } from "./refusal.ts";
import { chatBody } from "./request.ts";
import { serverSentEvents } from "../sse.ts";
import { ChatTranslator } from "./stream.ts";

export const chat: Dialect = {
  path: () => "/chat/completions",
  framing: serverSentEvents,
  headers: bearer,
  refusal: chatRefusal,
  body: chatBody,
  open: (request, target, emit) => new ChatTranslator(request, target, emit),
  error: chatError,
};
