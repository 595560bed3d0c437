/** Any server that speaks the Responses format itself. */
import { bearer } from "../bearer.ts";
import type { Dialect } from "../dialect.ts";
import { responsesError } from "./error.ts";
import { responsesRefusal } from "./refusal.ts";
import { responsesBody } from "./request.ts";
import { serverSentEvents } from "../sse.ts";
import { ResponsesTranslator } from "./stream.ts";

export const responses: Dialect = {
  path: () => "/responses",
  framing: serverSentEvents,
  headers: bearer,
  refusal: responsesRefusal,
  body: responsesBody,
  open: (request, target, emit) => new ResponsesTranslator(request, target, emit),
  error: responsesError,
};
