/** What only Anthropic's format has, from its clients to a provider of the format and back. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { hashKey } from "@sluice/proto/lib/ids/key.js";
import { eventData, readStreamedMessage } from "../../support/answers/streamed-answers.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { claudeMessage, claudeStream } from "../../support/providers/anthropic.ts";
import { type Received, type Upstream, chatAnswer, startUpstream } from "../../support/providers/upstream.ts";

let upstream: Upstream;
let installation: Installation;

beforeAll(async () => {
  upstream = await startUpstream();
  installation = await startInstallation({
    config: `
providers:
  - {id: vendor, dialect: messages, base_url: "${upstream.url}/v1", vendor: anthropic}
  - {id: chatty, dialect: chat, base_url: "${upstream.url}/v1"}
models:
  - id: t/claude
    input_modalities: [text, image, file]
    endpoints: [{provider: vendor, upstream_model: m, pricing: {prompt: "1", completion: "2"}}]
  - {id: t/chat, input_modalities: [text, image, file], endpoints: [{provider: chatty, upstream_model: m}]}
`,
  });
});
afterAll(async () => {
  await installation?.stop();
  await upstream?.stop();
});

async function post(body: object, key = installation.apiKey): Promise<string> {
  const response = await fetch(`${installation.baseUrl}/messages`, {
    method: "POST",
    headers: {
      "x-api-key": key,
      "content-type": "application/json",
      "x-service-metadata": "enabled",
    },
    body: JSON.stringify({ model: "t/claude", max_tokens: 64, messages: question, ...body }),
  });
  const text = await response.text();
  expect([response.status, text]).toEqual([200, expect.any(String)]);
  return text;
}

interface Answer {
  readonly content: readonly { readonly type: string }[];
  readonly usage: Readonly<Record<string, unknown>>;
  readonly service_metadata: {
    readonly params: { readonly not_sent?: readonly { readonly path: string; readonly reason: string }[] };
  };
  readonly [field: string]: unknown;
}

const ask = async (body: object = {}, key?: string): Promise<Answer> => JSON.parse(await post(body, key)) as Answer;
const notSent = ({ service_metadata: { params } }: Answer) => (params.not_sent ?? []).map(({ path }) => path);
const lastSent = () => (upstream.requests.at(-1) as Received).json as { messages: { content: unknown }[] };

const question = [{ role: "user", content: "Hi" }];
const said = { type: "text", text: "B." };
const schema = { type: "object", properties: {} };
const tools = [{ name: "look", input_schema: schema }];

describe("a call", () => {
  const call = { type: "tool_use", id: "toolu_1", name: "look", input: {}, caller: { type: "direct" } };
  const history = (model: string) => ({
    model,
    tools,
    messages: [
      ...question,
      { role: "assistant", content: [call] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "rain" }] },
    ],
  });

  test("names its caller, whole and in a stream", async () => {
    upstream.script([claudeMessage([call], "tool_use"), claudeStream([[call]], "tool_use")]);
    expect(await ask({ tools })).toMatchObject({ content: [call] });
    expect(readStreamedMessage(await post({ tools, stream: true }))).toMatchObject([call]);
  });

  test("keeps its caller in the next turn, and elsewhere the caller is reported", async () => {
    upstream.script([claudeMessage([said]), chatAnswer({ role: "assistant", content: "B." })]);
    expect(notSent(await ask(history("t/claude")))).toEqual([]);
    expect(lastSent().messages[1]).toEqual({ role: "assistant", content: [call] });
    expect(notSent(await ask(history("t/chat")))).toEqual(["messages.1.content.0.caller"]);
  });
});

describe("an answer", () => {
  const own = {
    context_management: { applied_edits: [{ type: "clear_tool_uses_20250919", cleared_tool_uses: 2 }] },
    container: { id: "container_1", expires_at: "2026-08-02T17:44:16Z" },
  };
  const usage = {
    input_tokens: 9,
    output_tokens: 3,
    inference_geo: "eu",
    server_tool_use: { web_search_requests: 0, web_fetch_requests: 0 },
  };

  test("keeps the fields that only this format has", async () => {
    upstream.script([claudeMessage([said], "end_turn", { ...own, usage })]);
    expect(await ask()).toMatchObject({ ...own, usage });
  });

  test("keeps them in a stream, whose last event has them", async () => {
    const events = [
      { type: "message_start", message: { id: "m", content: [], usage: { input_tokens: 9, inference_geo: "eu" } } },
      { type: "content_block_start", index: 0, content_block: said },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 3 }, ...own },
      { type: "message_stop" },
    ];
    upstream.script([{ chunks: [{ sse: events }] }]);
    const last = eventData(await post({ stream: true })).find(({ type }) => type === "message_delta");
    const { container, context_management: edits } = own;
    expect(last).toMatchObject({
      container,
      context_management: edits,
      usage: { input_tokens: 9, inference_geo: "eu" },
    });
  });

  test("has the counts of its message, and costs what its summary took as well", async () => {
    const iterations = [
      { type: "compaction", input_tokens: 900, output_tokens: 80 },
      { type: "message", input_tokens: 9, output_tokens: 3 },
    ];
    upstream.script([claudeMessage([said], "end_turn", { usage: { ...usage, iterations } })]);
    const answer = await ask();
    expect(answer.usage).toMatchObject({ input_tokens: 9, output_tokens: 3, iterations, cost: (909 + 2 * 83) / 1e6 });
  });
});

const pdf = { type: "base64", media_type: "application/pdf", data: "JVBERi0xLjQ=" };
const plain = { type: "text", media_type: "text/plain", data: "The cup is blue." };
const cites = { citations: { enabled: true } };
const mark = { cache_control: { type: "ephemeral" } };
const found = {
  type: "search_result",
  source: "https://a.test/cup",
  title: "Cup",
  content: [
    { type: "text", text: "The cup is blue." },
    { type: "text", text: "It is old." },
  ],
};

describe("a block of a question", () => {
  test.each([
    ["a file with citations", { type: "document", source: pdf, title: "cup.pdf", ...cites }],
    ["a text with a context", { type: "document", source: plain, context: "From 1920.", title: "Cup" }],
    ["a file that is not to be cited", { type: "document", source: pdf, citations: { enabled: false } }],
    ["an address", { type: "document", source: { type: "url", url: "https://a.test/a.pdf" }, ...cites }],
    ["blocks", { type: "document", source: { type: "content", content: found.content }, context: "Old.", ...cites }],
    ["words", { type: "document", source: { type: "content", content: "The cup is blue." }, title: "Cup", ...mark }],
    ["a search result", { ...found, ...cites }],
    ["a search result without citations", { ...found, ...mark }],
  ])("is sent as it came: %s", async (_, block) => {
    const content = [{ type: "text", text: "What is blue?" }, block, { type: "text", text: "Say it." }];
    upstream.script([claudeMessage([said])]);
    expect(notSent(await ask({ messages: [{ role: "user", content }] }))).toEqual([]);
    expect(lastSent().messages).toEqual([{ role: "user", content }]);
  });

  test("is sent as it came within the result of a call", async () => {
    const call = { type: "tool_use", id: "toolu_1", name: "look", input: {} };
    const document = { type: "document", source: pdf, context: "Old.", ...cites };
    const result = { type: "tool_result", tool_use_id: "toolu_1", content: [{ ...found, ...cites }, document] };
    const messages = [...question, { role: "assistant", content: [call] }, { role: "user", content: [result] }];
    upstream.script([claudeMessage([said])]);
    expect(notSent(await ask({ tools, messages }))).toEqual([]);
    expect(lastSent().messages[2]).toEqual({ role: "user", content: [result] });
  });

  test("is text elsewhere, where no text is cited", async () => {
    upstream.script([chatAnswer({ role: "assistant", content: "B." })]);
    const content = [
      { ...found, ...cites },
      { type: "document", source: { type: "content", content: "New." }, title: "Cup", context: "Old.", ...cites },
    ];
    const answer = await ask({ model: "t/chat", messages: [{ role: "user", content }] });
    expect(notSent(answer)).toEqual(["messages.0.content.0.citations", "messages.0.content.1.citations"]);
    const sent = JSON.stringify(lastSent());
    for (const words of ["Search result: Cup (https://a.test/cup)", "It is old.", "Document: Cup", "Old.", "New."])
      expect(sent).toContain(words);
    expect(sent).not.toContain("anthropic_");
  });
});

describe("citations", () => {
  const location = { document_index: 0, document_title: "Cup", cited_text: "The cup is blue." };
  const ofText = { type: "char_location", ...location, start_char_index: 0, end_char_index: 16 };
  const ofPage = { type: "page_location", ...location, start_page_number: 1, end_page_number: 2 };
  const ofResult = {
    type: "search_result_location",
    cited_text: "It is old.",
    source: "https://a.test/cup",
    title: "Cup",
    search_result_index: 0,
    start_block_index: 1,
    end_block_index: 2,
  };
  const ofWeb = {
    type: "web_search_result_location",
    url: "https://a.test/cup",
    title: "Cup",
    encrypted_index: "RW5jcnlwdGVk",
    cited_text: "blue",
  };
  const answer = [
    { type: "text", text: "So " },
    { type: "text", text: "the cup is blue", citations: [ofText, ofPage] },
    { type: "text", text: ", and " },
    { type: "text", text: "old", citations: [ofResult] },
    { type: "text", text: " as the web says", citations: [ofWeb] },
    { type: "text", text: "." },
  ];
  const streamed = answer.map(({ type, text, citations = [] }) => [
    { type, text: "", citations: [] },
    ...citations.map((citation) => ({ type: "citations_delta", citation })),
    { type: "text_delta", text },
  ]) as unknown as Parameters<typeof claudeStream>[0];

  test("come back with their blocks, whole and in a stream", async () => {
    upstream.script([claudeMessage(answer), claudeStream(streamed)]);
    expect((await ask()).content).toEqual(answer);
    const events = eventData(await post({ stream: true }));
    const deltas = events.flatMap(({ type, delta }) => (type === "content_block_delta" ? [delta] : []));
    expect(deltas.filter((delta) => (delta as { type: string }).type === "citations_delta")).toEqual(
      [ofText, ofPage, ofResult, ofWeb].map((citation) => ({ type: "citations_delta", citation })),
    );
    expect(events.filter(({ type }) => type === "content_block_start")).toHaveLength(answer.length);
  });

  test("go back in the next turn", async () => {
    upstream.script([claudeMessage([said]), chatAnswer({ role: "assistant", content: "B." })]);
    const messages = [...question, { role: "assistant", content: answer }, { role: "user", content: "Sure?" }];
    expect(notSent(await ask({ messages }))).toEqual([]);
    expect(lastSent().messages[1]).toEqual({ role: "assistant", content: answer });
    expect(notSent(await ask({ messages, model: "t/chat" }))).toContain("messages.1.content.1.citations");
    expect(JSON.stringify(lastSent())).not.toContain("anthropic_");
  });

  test("that Sluice has written for another provider are not sent to Anthropic, which would refuse them", async () => {
    const written = { ...ofWeb, encrypted_index: "" };
    const content = [{ type: "text", text: "blue", citations: [written] }];
    upstream.script([claudeMessage([said])]);
    await ask({ messages: [...question, { role: "assistant", content }, { role: "user", content: "Sure?" }] });
    expect(lastSent().messages[1]).toEqual({ role: "assistant", content: [{ type: "text", text: "blue" }] });
  });
});

describe("tools that Anthropic runs", () => {
  const search = {
    type: "server_tool_use",
    id: "srvtoolu_01Aa",
    name: "web_search",
    input: { query: "cup" },
    caller: { type: "code_execution_20260120", tool_id: "srvtoolu_01Bb" },
  };
  const results = {
    type: "web_search_tool_result",
    tool_use_id: "srvtoolu_01Aa",
    caller: search.caller,
    content: [
      {
        type: "web_search_result",
        url: "https://a.test/",
        title: "A",
        encrypted_content: "RW5j",
        page_age: "May 2026",
      },
    ],
  };
  const run = { type: "server_tool_use", id: "srvtoolu_01Bb", name: "code_execution", input: { code: "search()" } };
  const ran = {
    type: "code_execution_tool_result",
    tool_use_id: "srvtoolu_01Bb",
    content: { type: "code_execution_result", stdout: "1", stderr: "", return_code: 0, content: [] },
  };
  const read = { type: "server_tool_use", id: "srvtoolu_01Cc", name: "web_fetch", input: { url: "https://a.test/" } };
  const page = {
    type: "web_fetch_tool_result",
    tool_use_id: "srvtoolu_01Cc",
    content: {
      type: "web_fetch_result",
      url: "https://a.test/",
      retrieved_at: "2026-08-02T17:44:16",
      content: { type: "document", title: "A", citations: { enabled: true }, source: plain },
    },
  };
  const edit = { type: "server_tool_use", id: "srvtoolu_01Dd", name: "text_editor_code_execution", input: { a: 1.0 } };
  const edited = {
    type: "text_editor_code_execution_tool_result",
    tool_use_id: "srvtoolu_01Dd",
    content: { type: "text_editor_code_execution_create_result", is_file_update: false },
  };
  // A search made by code stands within the run.
  const answer = [{ type: "text", text: "Look." }, run, search, results, ran, read, page, edit, edited, said];
  const history = [...question, { role: "assistant", content: answer }, { role: "user", content: "Sure?" }];

  test("show their calls and results as they came, whole and in a stream", async () => {
    const blocks = answer.map((block) =>
      "input" in block
        ? [
            { ...block, input: {} },
            { type: "input_json_delta", partial_json: JSON.stringify(block.input) },
          ]
        : [block],
    ) as unknown as Parameters<typeof claudeStream>[0];
    upstream.script([claudeMessage(answer), claudeStream(blocks)]);
    expect((await ask()).content).toEqual(answer);
    expect(readStreamedMessage(await post({ stream: true }))).toEqual(answer);
  });

  test("get their calls and results back as they came", async () => {
    upstream.script([claudeMessage([said])]);
    expect(notSent(await ask({ messages: history }))).toEqual([]);
    expect(lastSent().messages[1]).toEqual({ role: "assistant", content: answer });
  });

  test("are calls and words elsewhere", async () => {
    upstream.script([chatAnswer({ role: "assistant", content: "B." })]);
    await ask({ model: "t/chat", messages: history });
    const sent = JSON.stringify(lastSent());
    expect(sent).not.toContain("anthropic_");
    for (const words of ["https://a.test/", "The cup is blue.", "search()", "text_editor_code_execution"])
      expect(sent).toContain(words);
  });

  test("that Sluice has written are not sent to Anthropic as its own", async () => {
    const content = [
      { ...search, id: "srvtoolu_ws_1" },
      { ...results, tool_use_id: "srvtoolu_ws_1", content: [{ ...results.content[0], encrypted_content: "" }] },
      said,
    ];
    upstream.script([claudeMessage([said])]);
    await ask({ messages: [...question, { role: "assistant", content }, { role: "user", content: "Sure?" }] });
    expect(JSON.stringify(lastSent().messages)).not.toContain("server_tool_use");
  });
});

describe("a conversation that Anthropic summarizes", () => {
  const edits = { edits: [{ type: "compact_20260112", trigger: { type: "input_tokens", value: 50_000 } }] };
  const summary = { type: "compaction", content: "They spoke of a cup.", encrypted_content: "RW5j" };
  const sentBetas = () => (upstream.requests.at(-1) as Received).headers["anthropic-beta"];

  test("is requested as it came, and its summary is a block, whole and in a stream", async () => {
    const { content, encrypted_content: sealed } = summary;
    const begun = { type: "compaction", content: null };
    const delta = { type: "compaction_delta", content, encrypted_content: sealed };
    upstream.script([claudeMessage([summary, said]), claudeStream([[begun, delta], [said]], "compaction")]);
    const answer = await ask({ context_management: edits });
    expect([answer.content, notSent(answer)]).toEqual([[summary, said], []]);
    expect(lastSent()).toMatchObject({ context_management: edits });
    expect(sentBetas()).toBe("compact-2026-01-12");
    const events = eventData(await post({ context_management: edits, stream: true }));
    expect(events).toContainEqual({ type: "content_block_start", index: 0, content_block: begun });
    expect(events).toContainEqual({ type: "content_block_delta", index: 0, delta });
    expect(events).toContainEqual(
      expect.objectContaining({ delta: { stop_reason: "compaction", stop_sequence: null } }),
    );
  });

  test("goes on with the summary, which is text elsewhere", async () => {
    const block = { ...summary, cache_control: { type: "ephemeral" } };
    const messages = [...question, { role: "assistant", content: [block, said] }, { role: "user", content: "And?" }];
    upstream.script([claudeMessage([said]), chatAnswer({ role: "assistant", content: "B." })]);
    expect(notSent(await ask({ messages }))).toEqual([]);
    expect(lastSent().messages[1]).toEqual({ role: "assistant", content: [block, said] });
    await ask({ messages, model: "t/chat" });
    expect(JSON.stringify(lastSent())).toContain("Summary of the conversation so far: They spoke of a cup.");
  });
});

describe("a guardrail", () => {
  const word = "plutonium";
  const send = async (path: string, body: object): Promise<{ key: string; data: { id: string } }> => {
    const headers = { authorization: `Bearer ${installation.managementKey}`, "content-type": "application/json" };
    const init = { method: "POST", headers, body: JSON.stringify(body) };
    return (await (await fetch(`${installation.baseUrl}${path}`, init)).json()) as {
      key: string;
      data: { id: string };
    };
  };
  let key: string;

  beforeAll(async () => {
    const filters = [{ pattern: word, label: "<metal>", action: "redact" }];
    const rules = { name: "metal", content_filters: filters, applies_to: "both" };
    const { data } = await send("/guardrails", rules);
    ({ key } = await send("/keys", { name: "guarded" }));
    await send(`/guardrails/${data.id}/assignments/keys`, { key_hashes: [hashKey(key)] });
  });

  test("redacts every text of these blocks on its way to the provider", async () => {
    const cited = { type: "char_location", cited_text: word, document_index: 0, document_title: word };
    const messages = [
      {
        role: "user",
        content: [
          { ...found, title: word, content: [{ type: "text", text: word }], ...cites },
          { type: "document", source: { type: "content", content: word }, context: word, title: word, ...cites },
        ],
      },
      {
        role: "assistant",
        content: [
          { type: "compaction", content: word },
          { type: "server_tool_use", id: "srvtoolu_01", name: "web_search", input: { query: word } },
          {
            type: "web_search_tool_result",
            tool_use_id: "srvtoolu_01",
            content: [{ type: "web_search_result", url: "https://a.test/", title: word, encrypted_content: "RW5j" }],
          },
          { type: "text", text: word, citations: [cited] },
        ],
      },
      { role: "user", content: "Sure?" },
    ];
    upstream.script([claudeMessage([said])]);
    await ask({ messages }, key);
    const sent = JSON.stringify(lastSent().messages);
    expect([sent.includes(word), sent.split("<metal>").length - 1]).toEqual([false, 11]);
  });

  test("redacts every text of these blocks in the answer, and drops a citation with such a text", async () => {
    const call = { type: "server_tool_use", id: "srvtoolu_01", name: "web_search", input: { query: word } };
    const citation = { type: "char_location", cited_text: word, document_index: 0, document_title: "Cup" };
    const answer = [
      { type: "compaction", content: `They spoke of ${word}.`, encrypted_content: "RW5j" },
      call,
      { type: "text", text: "So it is.", citations: [citation] },
    ];
    upstream.script([claudeMessage(answer)]);
    expect((await ask({}, key)).content).toEqual([
      { type: "compaction", content: "They spoke of <metal>.", encrypted_content: "RW5j" },
      { ...call, input: { query: "<metal>" } },
      { type: "text", text: "So it is." },
    ]);
  });
});
