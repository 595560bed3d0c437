/** The tool `file_search` over HTTP: a model without it searches a store of the configuration file. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { checkLadder } from "../../support/answers/ladder-rules.ts";
import { validateEvents, validateResponse } from "../../support/answers/published.ts";
import { parseSse } from "../../support/answers/sse.ts";
import { textReply, callReply, callReplyStream } from "../../support/tool-replies.ts";
import { type Upstream, chatStream, startUpstream } from "../../support/providers/upstream.ts";

let model: Upstream;
let store: Upstream;
let installation: Installation;

beforeAll(async () => {
  const data = [{ file_id: "f_1", filename: "a.pdf", score: 0.5, content: [{ type: "text", text: "Three months." }] }];
  [model, store] = await Promise.all([startUpstream(), startUpstream([{ chunks: [{ json: { data } }] }])]);
  installation = await startInstallation({
    config: `
providers:
  - {id: acme, dialect: chat, base_url: "${model.url}/v1"}
models:
  - {id: acme/one, endpoints: [{provider: acme, pricing: {prompt: "1", completion: "2"}}]}
file_search: {stores: {handbook: {base_url: "${store.url}", api_key: store-key, id: vs_1}}}
`,
  });
});
afterAll(async () => {
  await installation?.stop();
  await Promise.all([model?.stop(), store?.stop()]);
});

const post = (body: object, path = "/responses") =>
  fetch(`${installation.baseUrl}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${installation.apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({
      model: "acme/one",
      input: "Notice?",
      tools: [{ type: "file_search", vector_store_ids: ["handbook"] }],
      ...body,
    }),
  });

const asks = { name: "file_search", args: { query: "notice" } };

test("a file search is an item cited by the answer, whole and streamed", async () => {
  model.script([callReply(asks), textReply("Three months [a.pdf].")]);
  const whole = await post({});
  const body = (await whole.json()) as { output: unknown };
  expect([whole.status, validateResponse(body)]).toEqual([200, []]);
  const annotations = [{ type: "file_citation", file_id: "f_1", filename: "a.pdf", index: 13 }];
  const output = [{ type: "file_search_call", queries: ["notice"] }, { content: [{ annotations }] }];
  expect(body).toMatchObject({ output, usage: { server_tool_use_details: { tool_calls_executed: 1 } } });
  expect(store.requests.at(-1)?.path).toBe("/vector_stores/vs_1/search");
  model.script([callReplyStream("", asks), chatStream("Three months [a.pdf].")]);
  const stream = parseSse(await (await post({ stream: true, include: ["file_search_call.results"] })).text());
  expect(checkLadder(stream, true)).toMatchObject({ output: [{ results: [{ text: "Three months." }] }, output[1]] });
  expect(validateEvents(stream.events)).toEqual([]);
});

test("a dry run of a file search searches nothing, and names a missing store", async () => {
  const before = store.requests.length + model.requests.length;
  const tools = [{ type: "file_search", vector_store_ids: ["other"] }];
  const plans = [await post({}, "/responses/dry-run"), await post({ tools }, "/responses/dry-run")];
  const [good, bad] = (await Promise.all(plans.map((each) => each.json()))) as { error: { message: string } | null }[];
  expect([good?.error, bad?.error?.message]).toEqual([null, expect.stringContaining("file_search.stores")]);
  expect(store.requests.length + model.requests.length).toBe(before);
});
