/** The dialect of servers with a Responses API. */
import { chatEmbeddings } from "../chat/embeddings.ts";
import { bearer } from "../credentials/bearer.ts";
import type { Dialect } from "../dialect.ts";
import { responsesError } from "./error.ts";
import { refuseResponses } from "./native-tools.ts";
import { responsesBody } from "./request.ts";
import { serverSentEvents } from "../transport/sse.ts";
import { ResponsesTranslator } from "./stream.ts";

export const responses: Dialect = {
  path: () => "/responses",
  framing: serverSentEvents,
  headers: bearer,
  vendor: "openai",
  refusal: refuseResponses,
  body: responsesBody,
  open: (request, target, emit) => new ResponsesTranslator(request, target, emit),
  error: responsesError,
  // Servers of this format also have OpenAI's embeddings.
  embeddings: chatEmbeddings,
};
