/** A request that asks for nothing in particular: to try what becomes of one thing in it. */
import type { TurnRequest } from "./request.ts";

export const bareRequest = (fields: Partial<TurnRequest>): TurnRequest => ({
  models: [],
  input: [{ type: "message", role: "user", content: "" }],
  stream: false,
  tools: [],
  include: [],
  outputModalities: [],
  echoUpstreamBody: false,
  serviceMetadata: false,
  ...fields,
});
