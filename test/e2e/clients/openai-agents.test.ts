/** Agents running on a gateway: their loop, their streams, and the hand-over from one to the other. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { Agent, OpenAIProvider, Runner, applyPatchTool, handoff, shellTool, tool } from "@openai/agents";
import { z } from "zod";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { type Upstream, chatStream, responsesAnswer, startUpstream } from "../../support/providers/upstream.ts";
import { textReply, callReply, callReplyStream } from "../../support/tool-replies.ts";

const asked: string[] = [];
const weather = tool({
  name: "get_weather",
  description: "Current weather of a town",
  parameters: z.object({ town: z.string() }),
  execute: ({ town }) => {
    asked.push(town);
    return `clear sky over ${town}`;
  },
});

const call = (name: string) => ({ type: "function_call", id: "fc_1", call_id: "call_1", name, arguments: "{}" });
const message = (text: string) => ({
  type: "message",
  id: "msg_1",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text, annotations: [] }],
});

describe("@openai/agents", () => {
  let upstream: Upstream;
  let installation: Installation;
  let runner: Runner;

  beforeAll(async () => {
    upstream = await startUpstream();
    installation = await startInstallation({
      config: `
providers:
  - {id: sluice, dialect: echo}
  - {id: native, dialect: responses, base_url: "${upstream.url}/v1"}
  - {id: plain, dialect: chat, base_url: "${upstream.url}/v1"}
models:
  - {id: sluice/echo, endpoints: [{provider: sluice}]}
  - {id: native/model, endpoints: [{provider: native}]}
  - {id: plain/model, endpoints: [{provider: plain}]}
`,
    });
    const modelProvider = new OpenAIProvider({
      baseURL: installation.baseUrl,
      apiKey: installation.apiKey,
      useResponses: true,
    });
    // Traces of this client go to a fixed address on the internet, so they are turned off.
    runner = new Runner({ modelProvider, tracingDisabled: true });
  });
  afterAll(async () => {
    await installation?.stop();
    await upstream?.stop();
  });

  const reporter = () =>
    new Agent({ name: "Reporter", instructions: "Say the weather.", model: "sluice/echo", tools: [weather] });

  async function outputOf(agent: Agent, input: string, stream: boolean): Promise<string | undefined> {
    if (!stream) return (await runner.run(agent, input)).finalOutput;
    const run = await runner.run(agent, input, { stream });
    await run.completed;
    return run.finalOutput;
  }

  test("runs a tool loop to its end", async () => {
    asked.length = 0;
    const result = await runner.run(reporter(), "Weather in Oslo?");
    expect(asked).toEqual(["example"]);
    expect(result.newItems.map((item) => item.type)).toEqual([
      "tool_call_item",
      "tool_call_output_item",
      "message_output_item",
    ]);
    expect(result.finalOutput).toContain("clear sky over example");
    expect(result.state.usage).toMatchObject({ requests: 2, outputTokens: expect.any(Number) });
    expect(result.state.usage.outputTokens).toBeGreaterThan(0);
  });

  test("streams a tool loop to its end", async () => {
    asked.length = 0;
    const result = await runner.run(reporter(), "Weather in Oslo?", { stream: true });
    let text = "";
    const items: string[] = [];
    for await (const event of result) {
      if (event.type === "run_item_stream_event") items.push(event.name);
      if (event.type === "raw_model_stream_event" && event.data.type === "output_text_delta") text += event.data.delta;
    }
    await result.completed;
    expect(asked).toEqual(["example"]);
    expect(items).toEqual(["tool_called", "tool_output", "message_output_created"]);
    expect(text).toContain("clear sky over example");
    expect(result.finalOutput).toBe(text);
  });

  test("continues a conversation with its earlier messages", async () => {
    const agent = reporter();
    const first = await runner.run(agent, "Weather in Oslo?");
    const second = await runner.run(agent, [...first.history, { role: "user", content: "And tomorrow?" }]);
    expect(second.finalOutput).toContain("And tomorrow?");
  });

  test("reads an answer in its output type", async () => {
    const outputType = z.object({ name: z.string(), radius_km: z.number() });
    const agent = new Agent({ name: "Astronomer", model: "sluice/echo", outputType });
    const { finalOutput } = await runner.run(agent, "A moon?");
    expect(finalOutput).toEqual({ name: "example", radius_km: 1 });
  });

  test("hands a conversation over to another agent", async () => {
    const painter = new Agent({ name: "Painter", model: "sluice/echo", instructions: "Paint." });
    const greeter = new Agent({ name: "Greeter", model: "native/model", handoffs: [handoff(painter)] });
    upstream.script([responsesAnswer(call("transfer_to_Painter"))]);
    const result = await runner.run(greeter, "A picture, please.");
    expect(result.lastAgent?.name).toBe("Painter");
    expect(result.finalOutput).toContain("A picture, please.");
    expect(upstream.requests.at(-1)?.json["tools"]).toMatchObject([{ type: "function", name: "transfer_to_Painter" }]);
  });

  /** Tools of an agent that record their calls. */
  function coding(done: unknown[]) {
    return [
      applyPatchTool({
        editor: {
          createFile: async () => {},
          updateFile: async ({ path, diff }) => void done.push(path, diff),
          deleteFile: async () => {},
        },
      }),
      shellTool({
        shell: {
          run: async ({ commands }) => {
            done.push(commands);
            return { output: [{ stdout: "a.txt", stderr: "", outcome: { type: "exit", exitCode: 0 } }] };
          },
        },
      }),
    ];
  }

  const operation = { type: "update_file", path: "a.txt", diff: "@@\n-a\n+b\n" };
  const action = { commands: ["ls"], timeout_ms: 1_000, max_output_length: 100 };
  const listed = { stdout: "a.txt", stderr: "", outcome: { type: "exit", exit_code: 0 } };

  test.each([false, true])("carries out a patch and a command (stream: %s)", async (stream) => {
    const done: unknown[] = [];
    const patch = { type: "apply_patch_call", id: "apc_1", call_id: "call_p", status: "completed", operation };
    const command = { type: "shell_call", id: "sh_1", call_id: "call_s", status: "completed", action };
    upstream.script([responsesAnswer(patch, command), responsesAnswer(message("Done."))]);
    const agent = new Agent({ name: "Coder", model: "native/model", tools: coding(done) });
    expect(await outputOf(agent, "Fix it.", stream)).toBe("Done.");
    expect(done).toEqual(["a.txt", operation.diff, ["ls"]]);
    expect(upstream.requests.at(-1)?.json["input"]).toEqual([
      { type: "message", role: "user", content: "Fix it." },
      patch,
      command,
      { type: "apply_patch_call_output", call_id: "call_p", status: "completed" },
      { type: "shell_call_output", call_id: "call_s", output: [listed] },
    ]);
  });

  test.each([false, true])(
    "carries out a patch and a command with a model limited to functions (stream: %s)",
    async (stream) => {
      const done: unknown[] = [];
      const calls = [
        { name: "apply_patch", args: operation, id: "call_p" },
        { name: "shell", args: action, id: "call_s" },
      ];
      upstream.script(
        stream ? [callReplyStream("", ...calls), chatStream("Done.")] : [callReply(...calls), textReply("Done.")],
      );
      const agent = new Agent({ name: "Coder", model: "plain/model", tools: coding(done) });
      expect(await outputOf(agent, "Fix it.", stream)).toBe("Done.");
      expect(done).toEqual(["a.txt", operation.diff, ["ls"]]);
      expect(upstream.requests.at(-1)?.json["messages"]).toEqual([
        { role: "user", content: "Fix it." },
        {
          role: "assistant",
          content: null,
          tool_calls: [
            { id: "call_p", type: "function", function: { name: "apply_patch", arguments: JSON.stringify(operation) } },
            { id: "call_s", type: "function", function: { name: "shell", arguments: JSON.stringify(action) } },
          ],
        },
        { role: "tool", tool_call_id: "call_p", content: "completed" },
        { role: "tool", tool_call_id: "call_s", content: JSON.stringify([listed]) },
      ]);
    },
  );

  test("sends settings of the model to the provider", async () => {
    upstream.script([responsesAnswer(message("Hi."))]);
    const modelSettings = { temperature: 0.5, maxTokens: 100, reasoning: { effort: "low" as const } };
    const agent = new Agent({ name: "Poet", model: "native/model", instructions: "Rhyme.", modelSettings });
    expect((await runner.run(agent, "Hello")).finalOutput).toBe("Hi.");
    expect(upstream.requests.at(-1)?.json).toMatchObject({
      model: "native/model",
      instructions: "Rhyme.",
      temperature: 0.5,
      max_output_tokens: 100,
      reasoning: { effort: "low" },
    });
  });

  test("fails its run with the status of a failure", async () => {
    upstream.script([{ status: 429 }]);
    const agent = new Agent({ name: "Unlucky", model: "native/model" });
    await expect(runner.run(agent, "Hello")).rejects.toMatchObject({ status: 429 });
    const streamed = await runner.run(agent, "Hello", { stream: true });
    await expect(streamed.completed).rejects.toMatchObject({ status: 429 });
  });
});
