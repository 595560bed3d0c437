/** Reasoning between the calls of an answer comes back to its model in place, through each door, from whole answers and from streams. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { type StreamedBlock, claudeMessage, claudeStream } from "../../support/providers/anthropic.ts";
import { type Upstream, startUpstream } from "../../support/providers/upstream.ts";
import { readStreamedCompletion } from "../../support/answers/streamed-answers.ts";

interface Block {
  readonly type: string;
  readonly thinking?: string;
  readonly signature?: string;
  readonly text?: string;
  readonly id?: string;
}

const thought = (number: number): Block => ({
  type: "thinking",
  thinking: `Step ${number}`,
  signature: Buffer.from(`signature ${number}`).toString("base64"),
});
const call = (number: number) => ({ type: "tool_use", id: `toolu_${number}`, name: "find", input: {} });
const text: Block = { type: "text", text: "Let me look." };

const answers: readonly (readonly [string, readonly Block[]])[] = [
  ["between calls", [thought(1), text, call(1), thought(2), call(2)]],
  ["behind the text", [text, thought(1), call(1), thought(2), call(2), call(3)]],
  ["without a text", [thought(1), call(1), thought(2), call(2), thought(3), call(3)]],
  ["before everything", [thought(1), text, call(1), call(2)]],
];

function streamed(block: Block): StreamedBlock {
  const { thinking = "", signature = "" } = block;
  if (block.type === "thinking") {
    const begun = { type: "thinking", thinking: "", signature: "" };
    return [begun, { type: "thinking_delta", thinking }, { type: "signature_delta", signature }];
  }
  if (block.type === "text")
    return [
      { type: "text", text: "" },
      { type: "text_delta", text: block.text },
    ];
  return [block, { type: "input_json_delta", partial_json: "{}" }];
}

let upstream: Upstream;
let installation: Installation;

beforeAll(async () => {
  upstream = await startUpstream();
  installation = await startInstallation({
    config: `
providers:
  - {id: claude, dialect: messages, base_url: "${upstream.url}/v1"}
models:
  - {id: t/claude, endpoints: [{provider: claude}]}
`,
  });
});
afterAll(async () => {
  await installation?.stop();
  await upstream?.stop();
});

const tools = [{ type: "function", function: { name: "find", parameters: { type: "object" } } }];
const question = { role: "user", content: "Find it." };

async function sendRequest(messages: readonly object[], stream: boolean): Promise<string> {
  const answer = await fetch(`${installation.baseUrl}/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${installation.apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "t/claude", messages, tools, reasoning: { effort: "low" }, stream }),
  });
  expect(answer.status).toBe(200);
  return answer.text();
}

const cases = answers.flatMap(([name, blocks]) => [true, false].map((stream) => [name, stream, blocks] as const));

test.each(cases)("reasoning %s passes through chat completions, stream: %s", async (_name, stream, blocks) => {
  upstream.script([stream ? claudeStream(blocks.map(streamed), "tool_use") : claudeMessage(blocks, "tool_use")]);
  const told = await sendRequest([question], stream);
  const message = stream
    ? readStreamedCompletion(told)
    : (JSON.parse(told) as { choices: [{ message: object }] }).choices[0].message;
  const results = blocks.flatMap(({ type, id }) =>
    type === "tool_use" ? [{ role: "tool", tool_call_id: id, content: "Found." }] : [],
  );
  upstream.script([claudeMessage([text])]);
  await sendRequest([question, message, ...results], false);
  const body = JSON.parse(upstream.requests.at(-1)?.body ?? "{}") as { messages: { content: Block[] }[] };
  expect(body.messages[1]?.content).toEqual(blocks);
});

test("every delta of reasoning_details has its format", async () => {
  upstream.script([claudeStream([thought(1), text].map(streamed))]);
  const told = await sendRequest([question], true);
  const details = [...told.matchAll(/"reasoning_details":\[(\{.*?\})\]/g)].map(
    ([, json]) => JSON.parse(json!) as object,
  );
  expect(details.length).toBeGreaterThan(1);
  for (const detail of details) expect(detail).toMatchObject({ format: "anthropic-claude-v1" });
});
