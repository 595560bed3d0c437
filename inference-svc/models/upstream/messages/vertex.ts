/**
 * The dialect of Claude on Vertex AI: the path names the model, and the body the version of the format
 * (https://platform.claude.com/docs/en/build-with-claude/claude-on-vertex-ai).
 */
import type { Dialect } from "../dialect.ts";
import { messages } from "./dialect.ts";
import { messagesBody } from "./request.ts";

export const messagesOnVertex: Dialect = {
  ...messages,
  path: ({ stream }, { upstreamModel }) =>
    `/models/${encodeURIComponent(upstreamModel)}:${stream ? "streamRawPredict" : "rawPredict"}`,
  headers: () => ({}),
  body: (request, target, onDropped) =>
    messagesBody(request, target, onDropped, ["anthropic_version", "vertex-2023-10-16"]),
};
