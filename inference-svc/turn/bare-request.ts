/** Builds a request of a few fields, for code that takes a whole request and reads only a part of it. */
import type { TurnRequest } from "./request.ts";

export const bareRequest = (fields: Partial<TurnRequest>): TurnRequest => ({
  models: [],
  // Formats refuse a request that contains only white space.
  input: [{ type: "message", role: "user", content: "Hello" }],
  stream: false,
  tools: [],
  include: [],
  outputModalities: [],
  echoUpstreamBody: false,
  serviceMetadata: false,
  ...fields,
});
