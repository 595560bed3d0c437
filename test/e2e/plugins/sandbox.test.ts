/** Tools of the sandbox over HTTP: what clients get, as one object and as a stream, and what is counted. */
import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { checkLadder } from "../../support/answers/ladder-rules.ts";
import { samplesOf, scrape } from "../../support/metrics.ts";
import { validateEvents, validateResponse } from "../../support/answers/published.ts";
import { parseSse } from "../../support/answers/sse.ts";
import { textReply, callReply, callReplyStream } from "../../support/tool-replies.ts";
import { type Upstream, chatStream, startUpstream } from "../../support/providers/upstream.ts";

let adapter: Upstream;
let acme: Upstream;
let installation: Installation;

beforeAll(async () => {
  [adapter, acme] = await Promise.all([startUpstream(), startUpstream()]);
  installation = await startInstallation({
    config: `
providers:
  - {id: acme, dialect: chat, base_url: "${acme.url}/v1"}
models:
  - {id: acme/large, endpoints: [{provider: acme, pricing: {prompt: "1", completion: "2"}}]}
sandbox: {base_url: "${adapter.url}", api_key: k}
`,
  });
});
afterAll(async () => {
  await installation?.stop();
  await Promise.all([adapter?.stop(), acme?.stop()]);
});

const printed = { stdout: "one", stderr: "", outcome: { type: "exit", exit_code: 0 } };
beforeEach(() => adapter.script([{ chunks: [{ json: { output: [printed] } }] }]));

const sendRequest = (body: object) =>
  fetch(`${installation.baseUrl}/responses`, {
    method: "POST",
    headers: { authorization: `Bearer ${installation.apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "acme/large", input: "Count.", ...body }),
  });

const environment = { type: "container_auto" };
const kinds: readonly (readonly [tool: { type: string }, name: string, args: object, items: readonly string[]])[] = [
  [{ type: "service:bash" }, "service_bash", { command: "ls" }, ["service:bash"]],
  [{ type: "bash" }, "service_bash", { command: "ls" }, ["service:bash"]],
  [{ type: "service:shell" }, "service_shell", { commands: ["ls"] }, ["service:shell"]],
  [
    { type: "shell", environment } as { type: string },
    "shell",
    { commands: ["ls"] },
    ["shell_call", "shell_call_output"],
  ],
  [{ type: "service:code_interpreter" }, "service_code_interpreter", { code: "1" }, ["service:code_interpreter"]],
  [
    { type: "code_interpreter", container: { type: "auto" } } as { type: string },
    "code_interpreter",
    { code: "1" },
    ["code_interpreter_call"],
  ],
];

test.each(kinds)("the sandbox tool %j runs code and answers with one object", async (tool, name, args, items) => {
  acme.script([callReply({ name, args }), textReply("Done.")]);
  const response = await sendRequest({ tools: [tool] });
  const body = (await response.json()) as { output: { type: string }[] };
  expect([response.status, validateResponse(body)]).toEqual([200, []]);
  expect(body.output.map(({ type }) => type)).toEqual([...items, "message"]);
  expect(body).toMatchObject({
    usage: { server_tool_use_details: { tool_calls_requested: 1, tool_calls_executed: 1 } },
  });
});

test.each(kinds)("the sandbox tool %j runs code and streams its events", async (tool, name, args, items) => {
  acme.script([callReplyStream("", { name, args }), chatStream("Done.")]);
  const answer = parseSse(await (await sendRequest({ tools: [tool], stream: true })).text());
  expect(validateEvents(answer.events)).toEqual([]);
  expect(checkLadder(answer, true).output.map(({ type }) => type)).toEqual([...items, "message"]);
  if (tool.type !== "code_interpreter") return;
  const steps = answer.events.flatMap(({ type }) =>
    type.includes("code_interpreter") ? [type.split(".").at(-1)] : [],
  );
  expect(steps).toEqual(["in_progress", "interpreting", "delta", "done", "completed"]);
});

test("a sandbox call that was not run has valid items, too", async () => {
  acme.script([callReply({ name: "shell", args: { commands: [] } }), textReply("Done.")]);
  const body = (await (await sendRequest({ tools: [{ type: "shell", environment }] })).json()) as { output: object[] };
  expect(validateResponse(body)).toEqual([]);
  expect(body.output.slice(0, 2)).toMatchObject([
    { type: "shell_call", status: "incomplete" },
    { type: "shell_call_output", status: "incomplete", error: "commands: at least 1 command" },
  ]);
});

test("sandbox runs are counted by their outcome", async () => {
  const runs = async (outcome: string) =>
    samplesOf(await scrape(installation)).find(
      ({ name, labels }) => name === "sluice_sandbox_runs_total" && labels["outcome"] === outcome,
    )?.value ?? 0;
  const before = await runs("failed");
  acme.script([callReply({ name: "service_bash", args: { command: "ls" } }), textReply("Done.")]);
  adapter.script([{ status: 429 }]);
  await (await sendRequest({ tools: [{ type: "service:bash" }] })).text();
  expect([await runs("failed"), (await runs("answered")) > 0]).toEqual([before + 1, true]);
});
