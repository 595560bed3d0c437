/** Every unsent setting of a request is named in the receipt, under every dialect. */
import { describe, expect, test } from "@jest/globals";
import type { TurnRequest } from "@sluice/inference-svc/turn/request.js";
import { callOptions } from "@sluice/inference-svc/models/upstream/ai-sdk/request.js";
import { chatBody } from "@sluice/inference-svc/models/upstream/chat/request.js";
import { cohereBody } from "@sluice/inference-svc/models/upstream/cohere/request.js";
import { converseBody } from "@sluice/inference-svc/models/upstream/converse/request.js";
import type { OnDropped, Target } from "@sluice/inference-svc/models/upstream/dialect.js";
import { geminiBody } from "@sluice/inference-svc/models/upstream/gemini/request.js";
import { messagesBody } from "@sluice/inference-svc/models/upstream/messages/request.js";
import { mistralOcrBody } from "@sluice/inference-svc/models/upstream/mistral-ocr/request.js";
import { responsesBody } from "@sluice/inference-svc/models/upstream/responses/request.js";
import { parameterRequests } from "../../../support/probes/parameters.ts";
import { testRequest } from "../../asking.js";

const other: Target = { upstreamModel: "m", tier: "default", original: false };
const vendor: Target = { ...other, original: true };
type Write = (request: TurnRequest, target: Target, lose: OnDropped) => unknown;

const formats: readonly (readonly [string, Write, Target])[] = [
  ["chat", chatBody, other],
  ["chat of its vendor", chatBody, vendor],
  ["responses", responsesBody, other],
  ["responses of its vendor", responsesBody, { ...vendor, reasoningFormat: "openai-responses-v1" }],
  ["messages", messagesBody, { ...vendor, upstreamModel: "claude-sonnet-4-5" }],
  ["converse", converseBody, { ...vendor, upstreamModel: "anthropic.claude-sonnet-4-5" }],
  ["cohere", cohereBody, vendor],
  ["gemini", geminiBody, { ...vendor, upstreamModel: "gemini-3-pro" }],
  ["mistral-ocr", mistralOcrBody, vendor],
  ["ai-sdk", (request, target, lose) => callOptions(request, target, lose, "v4"), other],
];

const settings: Readonly<Record<string, Partial<TurnRequest>>> = {
  ...parameterRequests,
  instructions: { instructions: "i" },
  "text.verbosity": { verbosity: "low" },
  "text.format": { textFormat: { type: "json_object" } },
  prompt_cache_key: { promptCacheKey: "k" },
  prompt_cache_options: { promptCacheOptionsJson: '{"ttl":"30m"}' },
  max_tool_calls: { maxToolCalls: 3 },
  "reasoning.effort": { reasoning: { effort: "low" } },
  image_config: { imageConfigJson: '{"aspect_ratio":"1:1"}' },
  safety_identifier: { identityHash: "h", identityField: "safety_identifier" },
  user: { identityHash: "h", identityField: "user" },
  prediction: { predictionJson: '{"type":"content","content":"draft"}' },
  anthropic_betas: { anthropicBetas: ["a"] },
  context_management: { contextManagementJson: '{"edits":[]}' },
};

function written(write: Write, target: Target, request: Partial<TurnRequest>) {
  const lost: string[] = [];
  const body = write(testRequest(request), target, (path) => void lost.push(path));
  return { body: JSON.stringify(body), lost };
}

/** Servers of the chat format run no tools, so Sluice keeps the limit itself; names of beta features are sent in a header. */
const isKeptHere = (write: Write, path: string): boolean =>
  (write === chatBody && path === "max_tool_calls") || (write === messagesBody && path === "anthropic_betas");

describe.each(formats)("a request for %s", (_, write, target) => {
  const bare = written(write, target, {});

  test.each(Object.entries(settings).filter(([path]) => !isKeptHere(write, path)))(
    "sends %s or names it as not sent",
    (path, request) => {
      const { body, lost } = written(write, target, request);
      expect({ path, isSent: body !== bare.body, lost }).not.toEqual({ path, isSent: false, lost: [] });
      if (body === bare.body) expect(lost[0]).toMatch(path.split(".")[0] as string);
    },
  );

  test("sends the wish for hidden reasoning or names it as not sent, unless it is the default", () => {
    const thinking = written(write, target, { reasoning: { effort: "low" } });
    const { body, lost } = written(write, target, { reasoning: { effort: "low", summary: "omitted" } });
    const isDefault = write === responsesBody && target.original;
    expect(body !== thinking.body || lost.some((path) => path.startsWith("reasoning"))).toBe(!isDefault);
  });
});
