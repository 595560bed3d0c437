/** The dialect of servers that are compatible with OpenAI's chat completions. */
import type { TurnRequest } from "../../../turn/request.ts";
import { bearer } from "../credentials/bearer.ts";
import type { Dialect, Refusal, Target } from "../dialect.ts";
import { noHostedTools, refuseInput, refuseTools } from "../translate/unsupported-inputs.ts";
import { serverSentEvents } from "../transport/sse.ts";
import { chatEmbeddings } from "./embeddings.ts";
import { chatError } from "./error.ts";
import { refuseChatPart } from "./parts.ts";
import { chatBody } from "./request.ts";
import { ChatTranslator } from "./stream.ts";

export const chat: Dialect = {
  path: () => "/chat/completions",
  framing: serverSentEvents,
  headers: bearer,
  vendor: "openai",
  refusal: refuseChat,
  body: chatBody,
  open: (request, target, emit) => new ChatTranslator(request, target, emit),
  error: chatError,
  embeddings: chatEmbeddings,
};

export function refuseChat(request: TurnRequest, target: Target): Refusal | undefined {
  const refusal =
    refuseTools(request, noHostedTools) ?? refuseInput(request.input, (part) => refuseChatPart(part, target));
  if (refusal) return refusal;
  return target.original && request.outputModalities.includes("image")
    ? { path: "modalities", message: "no provider of this model gives images" }
    : undefined;
}
