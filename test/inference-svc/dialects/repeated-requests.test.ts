/** The memory that requests share changes neither the body of a provider, nor what is reported as dropped, nor a problem. */
import { expect, test } from "@jest/globals";
import { parseRequest } from "@sluice/gateway/responses/request.js";
import { parseTurn } from "@sluice/inference-svc/turn/parse/turn-request.js";
import { chat } from "@sluice/inference-svc/upstream/chat/dialect.js";
import { cohere } from "@sluice/inference-svc/upstream/cohere/dialect.js";
import { converse } from "@sluice/inference-svc/upstream/converse/dialect.js";
import type { Target } from "@sluice/inference-svc/upstream/dialect.js";
import { gemini } from "@sluice/inference-svc/upstream/gemini/dialect.js";
import { messages } from "@sluice/inference-svc/upstream/messages/dialect.js";
import { responses } from "@sluice/inference-svc/upstream/responses/dialect.js";
import { Fault } from "@sluice/proto/runtime/fault.js";
import { scanObject } from "@sluice/proto/runtime/validation/json-scan.js";
import { generateBody } from "../../fuzz/requests/bodies.js";

const dialects = { chat, messages, responses, gemini, converse, cohere };

const targets: readonly Target[] = [
  { upstreamModel: "large", tier: "default", original: false },
  { upstreamModel: "large", tier: "flex", original: true, reasoningFormat: "openai-responses-v1" },
  {
    upstreamModel: "anthropic.large",
    tier: "default",
    original: false,
    nativeTools: new Set(["web_search"]),
    supportedParameters: ["structured_outputs", "cache_control", "tool_choice", "reasoning.max_tokens"],
  },
];

/** Everything that providers are sent of a body, or all that is wrong with it. */
function sayAll(body: Buffer, aliases: readonly string[]): readonly string[] {
  try {
    const { request } = parseRequest(body, scanObject(body, "body"), { serviceMetadata: false });
    const turn = parseTurn(request, { aliases });
    return Object.entries(dialects).flatMap(([name, dialect]) =>
      targets.map((target) => {
        const refusal = dialect.refusal(turn, target);
        const dropped: string[] = [];
        const sent = refusal ?? dialect.body(turn, target, (path, reason) => dropped.push(`${path}: ${reason}`));
        return JSON.stringify([name, sent, dropped]);
      }),
    );
  } catch (error) {
    if (error instanceof Fault) return [JSON.stringify([error.message, error.metadata])];
    throw error;
  }
}

test("600 requests say the same at first sight, when they come again, and when nothing is remembered of them", () => {
  const aliases = ["acme:"];
  let sent = 0;
  for (let number = 0; number < 600; number++) {
    const body = generateBody(17, number);
    const first = sayAll(body, aliases);
    expect(sayAll(body, aliases)).toEqual(first);
    // Tools are remembered for one list of aliases.
    expect(sayAll(body, ["acme:"])).toEqual(first);
    if (first.length > 1) sent++;
  }
  expect(sent).toBeGreaterThan(200);
});
