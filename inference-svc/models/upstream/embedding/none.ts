/** The embeddings dialect for a format without embeddings: its endpoints refuse the request. */
import type { Dialect, Refusal } from "../dialect.ts";
import { providerFailed } from "../failure.ts";
import { serverSentEvents } from "../transport/sse.ts";

const fail = (): never => {
  throw providerFailed("a format without embeddings");
};

export const noEmbeddingsRefusal: Refusal = { path: "model", message: "the format of its provider has no embeddings" };

export const noEmbeddings: Dialect = {
  path: () => "",
  framing: serverSentEvents,
  headers: () => ({}),
  refusal: () => noEmbeddingsRefusal,
  body: fail,
  open: fail,
  error: () => ({}),
};
