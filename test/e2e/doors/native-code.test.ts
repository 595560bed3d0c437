/** Code that Anthropic runs itself, through /messages and /responses: the tool and its container are sent, and the run comes back. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { readStreamedMessage } from "../../support/answers/streamed-answers.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { claudeMessage, claudeStream } from "../../support/providers/anthropic.ts";
import { type Upstream, startUpstream } from "../../support/providers/upstream.ts";

let upstream: Upstream;
let installation: Installation;

beforeAll(async () => {
  upstream = await startUpstream();
  installation = await startInstallation({
    config: `
providers:
  - {id: runs, dialect: messages, base_url: "${upstream.url}/v1", native_tools: [code_interpreter, web_search]}
models:
  - {id: t/claude, endpoints: [{provider: runs}]}
`,
  });
});
afterAll(async () => {
  await installation?.stop();
  await upstream?.stop();
});

async function post(path: string, body: object): Promise<string> {
  const response = await fetch(`${installation.baseUrl}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${installation.apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "t/claude", ...body }),
  });
  const text = await response.text();
  expect([response.status, text]).toEqual([200, expect.any(String)]);
  return text;
}

const asked = () => upstream.requests.at(-1);
const code = { type: "code_execution_20250825", name: "code_execution" };
const search = { type: "web_search_20250305", name: "web_search" };
const messages = [{ role: "user", content: "How many primes?" }];

const call = { type: "server_tool_use", id: "srvtoolu_1", name: "bash_code_execution", input: { command: "ls -l" } };
const printed = (returned: number) => ({
  type: "bash_code_execution_tool_result",
  tool_use_id: "srvtoolu_1",
  content: { type: "bash_code_execution_result", stdout: "1229\n", stderr: "", return_code: returned, content: [] },
});
const said = { type: "text", text: "1229." };

const shown = (returned: number) => [
  { type: "server_tool_use", name: "code_execution", input: { code: "ls -l" } },
  {
    type: "code_execution_tool_result",
    content: { type: "code_execution_result", stdout: "1229\n", return_code: returned },
  },
  said,
];

describe("native code execution at /messages", () => {
  test.each([0, 1])("gives a run with the result %i", async (returned) => {
    upstream.script([claudeMessage([call, printed(returned), said])]);
    const body = { max_tokens: 64, messages, tools: [code, search], container: "container_1" };
    const { content } = JSON.parse(await post("/messages", body)) as { content: object[] };
    expect(content).toMatchObject(shown(returned));
    expect(asked()?.json).toMatchObject({ tools: [code, search], container: "container_1" });
    expect(asked()?.headers["anthropic-beta"]).toBe("code-execution-2025-08-25");
  });

  test("gives a run in a stream, in blocks usable in the next request", async () => {
    const { input, ...head } = call;
    const streamed = claudeStream([
      [
        { ...head, input: {} },
        { type: "input_json_delta", partial_json: JSON.stringify(input) },
      ],
      [printed(0)],
      [
        { type: "text", text: "" },
        { type: "text_delta", text: "1229." },
      ],
    ]);
    upstream.script([streamed, claudeMessage([said])]);
    const tools = [code];
    const content = readStreamedMessage(await post("/messages", { max_tokens: 64, messages, tools, stream: true }));
    expect(content).toMatchObject(shown(0));
    const more = [...messages, { role: "assistant", content }, { role: "user", content: "Sure?" }];
    await post("/messages", { max_tokens: 64, messages: more, tools });
    expect(asked()?.body).toContain("ls -l");
    expect(asked()?.body).toContain("1229");
  });

  test("can be required or forbidden by the tool choice", async () => {
    upstream.script([claudeMessage([said])]);
    const forced = { type: "tool", name: "code_execution" };
    await post("/messages", { max_tokens: 64, messages, tools: [code], tool_choice: forced });
    expect(asked()?.json).toMatchObject({ tools: [code], tool_choice: forced });
    await post("/messages", { max_tokens: 64, messages, tools: [code], tool_choice: { type: "none" } });
    expect(asked()?.json).toMatchObject({ tool_choice: { type: "none" } });
  });
});

test("native code execution at /responses gives an item with its outputs", async () => {
  upstream.script([claudeMessage([call, printed(0), said])]);
  const tools = [{ type: "code_interpreter", container: { type: "auto" } }];
  const include = ["code_interpreter_call.outputs"];
  const { output } = JSON.parse(await post("/responses", { input: "How many?", tools, include })) as {
    output: object[];
  };
  expect(output).toMatchObject([
    {
      type: "code_interpreter_call",
      id: expect.stringMatching(/^ci_/),
      status: "completed",
      code: "ls -l",
      outputs: [{ type: "logs", logs: "1229\n" }],
    },
    { type: "message" },
  ]);
  expect(asked()?.json["tools"]).toEqual([code]);
  expect(asked()?.json).not.toHaveProperty("container");
});

test("native code execution paused by the provider gives a call without a result yet", async () => {
  upstream.script([claudeMessage([call], "pause_turn")]);
  const { content, stop_reason: reason } = JSON.parse(
    await post("/messages", { max_tokens: 64, messages, tools: [code] }),
  ) as { content: object[]; stop_reason: string };
  expect(content).toMatchObject([{ type: "server_tool_use", name: "code_execution" }]);
  expect([content.length, reason]).toEqual([1, "pause_turn"]);
  upstream.script([claudeMessage([said])]);
  await post("/messages", { max_tokens: 64, messages: [...messages, { role: "assistant", content }], tools: [code] });
  expect(asked()?.body).toContain("ls -l");
});
