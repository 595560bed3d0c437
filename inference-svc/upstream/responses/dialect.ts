/** Any server that speaks the Responses format itself. */
import type { Dialect } from "../dialect.ts";
import { responsesError } from "./error.ts";
import { responsesBody } from "./request.ts";
import { ResponsesTranslator } from "./stream.ts";

export const responses: Dialect = {
  path: "/responses",
  refusal: () => undefined,
  body: responsesBody,
  open: (request, target, emit) => new ResponsesTranslator(request, target, emit),
  error: responsesError,
};
