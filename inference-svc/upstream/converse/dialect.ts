/** Amazon Bedrock's format for the models of all vendors. */
import { bearer } from "../bearer.ts";
import type { Dialect } from "../dialect.ts";
import { converseError, errorTypeOf } from "./error.ts";
import { eventStream } from "./event-stream.ts";
import { converseRefusal } from "./refusal.ts";
import { converseBody } from "./request.ts";
import { ConverseTranslator } from "./stream.ts";

export const converse: Dialect = {
  path: ({ stream }, { upstreamModel }) =>
    `/model/${encodeURIComponent(upstreamModel)}/${stream ? "converse-stream" : "converse"}`,
  framing: eventStream,
  headers: bearer,
  refusal: converseRefusal,
  body: converseBody,
  open: (request, target, emit) => new ConverseTranslator(request, target, emit),
  error: (status, body, headers) => converseError(status, body, errorTypeOf(headers)),
};
