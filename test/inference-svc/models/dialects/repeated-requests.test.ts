/** The memory shared by requests changes neither the provider's body, nor the reported losses, nor the problems. */
import { expect, test } from "@jest/globals";
import { measureInput } from "@sluice/inference-svc/models/estimate/tokens.js";
import { parseRequest } from "@sluice/gateway/doors/responses/request.js";
import { type ParseOptions, parseTurn } from "@sluice/inference-svc/turn/parse/turn-request.js";
import type { TurnRequest } from "@sluice/inference-svc/turn/request.js";
import { chat } from "@sluice/inference-svc/models/upstream/chat/dialect.js";
import { cohere } from "@sluice/inference-svc/models/upstream/cohere/dialect.js";
import { converse } from "@sluice/inference-svc/models/upstream/converse/dialect.js";
import type { Target } from "@sluice/inference-svc/models/upstream/dialect.js";
import { gemini } from "@sluice/inference-svc/models/upstream/gemini/dialect.js";
import { messages } from "@sluice/inference-svc/models/upstream/messages/dialect.js";
import { responses } from "@sluice/inference-svc/models/upstream/responses/dialect.js";
import { Fault } from "@sluice/proto/lib/faults/fault.js";
import { scanObject } from "@sluice/proto/lib/json/scan.js";
import { generateBody } from "../../../support/random-requests/bodies.js";

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

const parse = (body: Buffer, options: ParseOptions): TurnRequest =>
  parseTurn(parseRequest(body, scanObject(body, "body"), { serviceMetadata: false }).request, options);

/** Everything that providers are sent for a request, or all its problems. */
function sayAll(body: Buffer, options: ParseOptions): readonly string[] {
  try {
    const turn = parse(body, options);
    const size = JSON.stringify(measureInput(turn));
    return Object.entries(dialects).flatMap(([name, dialect]) =>
      targets.map((target) => {
        const refusal = dialect.refusal(turn, target);
        const dropped: string[] = [];
        const sent = refusal ?? dialect.body(turn, target, (path, reason) => dropped.push(`${path}: ${reason}`));
        return JSON.stringify([name, sent, dropped, size]);
      }),
    );
  } catch (error) {
    if (error instanceof Fault) return [JSON.stringify([error.message, error.metadata])];
    throw error;
  }
}

test("600 requests give the same bodies at first, when repeated, and without a memory", () => {
  const aliases = ["acme:"];
  let sent = 0;
  for (let number = 0; number < 600; number++) {
    const body = generateBody(17, number);
    const first = sayAll(body, { aliases });
    expect(sayAll(body, { aliases })).toEqual(first);
    // Tools are cached for one list of aliases.
    expect(sayAll(body, { aliases: ["acme:"] })).toEqual(first);
    if (first.length > 1) sent++;
  }
  expect(sent).toBeGreaterThan(200);
});

/** The input is long enough to be remembered together with this beginning. */
const beginning = Array.from({ length: 4 }, (_, index) => ({
  role: "user",
  content: `${index} ${"word ".repeat(150)}`,
}));

test("the steps of 200 conversations give the same bodies, with and without remembered items", () => {
  const aliases = ["acme:"];
  let sent = 0;
  let repeated = 0;
  for (let number = 0; number < 800 && sent < 200; number++) {
    const { input, ...others } = parsedOrEmpty(generateBody(23, number));
    if (!Array.isArray(input)) continue;
    const conversation = [{ ...beginning[0], id: `msg_${number}` }, ...beginning.slice(1), ...(input as unknown[])];
    let before: TurnRequest["input"][number] | undefined;
    for (let length = beginning.length; length <= conversation.length; length++) {
      const body = Buffer.from(JSON.stringify({ ...others, input: conversation.slice(0, length) }));
      const first = sayAll(body, { aliases });
      expect(sayAll(body, { aliases, owner: "key" })).toEqual(first);
      expect(sayAll(body, { aliases, owner: "key" })).toEqual(first);
      if (first.length === 1) continue;
      sent++;
      const [item] = parse(body, { aliases, owner: "key" }).input;
      if (item === before) repeated++;
      before = item;
      expect(parse(body, { aliases, owner: "another key" }).input[0]).not.toBe(item);
    }
  }
  expect(repeated).toBeGreaterThan(100);
});

function parsedOrEmpty(body: Buffer): Readonly<Record<string, unknown>> {
  try {
    return (JSON.parse(body.toString()) as Record<string, unknown> | null) ?? {};
  } catch {
    return {};
  }
}
