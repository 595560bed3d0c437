/** The dialect of Mistral's OCR API (https://docs.mistral.ai/api/endpoint/ocr), which reads one document or picture and is charged per page. */
import { bearer } from "../credentials/bearer.ts";
import { chatError } from "../chat/error.ts";
import type { Dialect } from "../dialect.ts";
import { serverSentEvents } from "../transport/sse.ts";
import { refuseOcrRequest } from "./document.ts";
import { mistralOcrBody } from "./request.ts";
import { MistralOcrTranslator } from "./stream.ts";

export const mistralOcr: Dialect = {
  path: () => "/ocr",
  // The API answers with one JSON object, even if a stream is requested.
  framing: { ...serverSentEvents, type: "application/json" },
  headers: bearer,
  refusal: refuseOcrRequest,
  body: mistralOcrBody,
  open: (request, target, emit) => new MistralOcrTranslator(request, target, emit),
  error: chatError,
};
