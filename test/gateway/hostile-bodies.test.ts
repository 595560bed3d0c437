/** Hostile values in any field lead to a turn or to a fault with status 400 or 404, never to another exception. */
import { expect, test } from "@jest/globals";
import { parseMessages } from "@sluice/gateway/doors/messages/request.js";
import { parseRequest } from "@sluice/gateway/doors/responses/request.js";
import { parseTurn } from "@sluice/inference-svc/turn/parse/turn-request.js";
import { Fault } from "@sluice/proto/lib/faults/fault.js";
import { scanObject } from "@sluice/proto/lib/json/scan.js";
import fc from "../support/properties.js";

const words = (text: string): string[] => text.trim().split(/\s+/);

const fieldNames = words(`
  background cache_control debug frequency_penalty image_config include input instructions
  max_output_tokens max_tool_calls metadata modalities model models parallel_tool_calls plugins
  presence_penalty previous_response_id prompt prompt_cache_key prompt_cache_options provider
  reasoning route safety_identifier service_tier session_id stop_server_tools_when store stream
  temperature text tool_choice tools top_k top_logprobs top_p trace truncation user
`);

/** Almost valid values: the words of the contract in wrong places. */
const word = fc.constantFrom(
  ...words(`
  message function function_call function_call_output reasoning input_text input_image output_text
  json_schema user assistant auto required ephemeral __proto__ constructor
`),
);
const key = fc.constantFrom(
  ...words(`
  type role content text image_url call_id name arguments output parameters schema format effort
  summary id enabled __proto__ constructor toString function detail
`),
);
const { near } = fc.letrec((tie) => ({
  near: fc.oneof(
    { maxDepth: 4 },
    word,
    fc.constantFrom(null, true, 0, -1, 1.5, 1e300, ""),
    fc.string(),
    fc.array(tie("near"), { maxLength: 3 }),
    fc.dictionary(key, tie("near"), { maxKeys: 4 }),
  ),
}));

const answer = (body: Buffer): void => {
  try {
    parseTurn(parseRequest(body, scanObject(body, "body"), { serviceMetadata: false }).request);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    expect([400, 404]).toContain(error.status);
  }
};

test("a request with any values in its fields is answered or refused", () => {
  const fields = fc.dictionary(fc.constantFrom(...fieldNames), near, { maxKeys: 6 });
  fc.assert(
    fc.property(fields, fc.boolean(), (body, valid) => {
      const complete = valid ? { model: "a/b", input: "x", ...body } : body;
      answer(Buffer.from(JSON.stringify(complete)));
    }),
    { numRuns: 10_000 },
  );
  expect(({} as { type?: unknown }).type).toBeUndefined();
});

test("a request body of any bytes is answered or refused", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => answer(Buffer.from(bytes))),
    { numRuns: 5_000 },
  );
});

test.each([
  ["calls", { type: "tool_use", name: "f", input: {} }],
  ["calls that the client did not run", { type: "server_tool_use", name: "web_search" }],
])("a message of thousands of %s takes time in proportion to its length", (_, call) => {
  const content = Array.from({ length: 20_000 }, (_, number) => ({ ...call, id: `${number}` }));
  const messages = [
    { role: "user", content: "x" },
    { role: "assistant", content },
  ];
  const body = Buffer.from(JSON.stringify({ model: "a/b", max_tokens: 1, messages }));
  const members = scanObject(body, "body");
  const began = process.cpuUsage();
  parseMessages(body, members, { headers: {}, sessionId: undefined, serviceMetadata: false });
  // The limit is a tenth of a second; it took up to a minute when each call was searched from the beginning of its message.
  expect(process.cpuUsage(began).user).toBeLessThan(1_500_000);
});

test.each([
  [
    "web_search",
    "web_search_tool_result",
    [{ type: "web_search_result", title: "t", url: "https://example.com", page_age: "x" }],
  ],
  [
    "tool_search_tool_regex",
    "tool_search_tool_result",
    { tool_references: [{ type: "tool_reference", tool_name: "f" }] },
  ],
  ["bash_code_execution", "bash_code_execution_tool_result", { stdout: "", stderr: "" }],
  ["unknown_tool", "web_fetch_tool_result", { url: "https://example.com" }],
])("the result of a call of %s is written once, however many calls have the same id", (name, type, content) => {
  const call = { type: "server_tool_use", id: "srvtoolu_1", name, input: {} };
  const long = JSON.parse(
    JSON.stringify(content).replace(/"(?:t|f||https:\/\/example\.com)"/g, `"${"r".repeat(50_000)}"`),
  );
  const answer = [...Array.from({ length: 300 }, () => call), { type, tool_use_id: "srvtoolu_1", content: long }];
  const messages = [
    { role: "user", content: "x" },
    { role: "assistant", content: answer },
  ];
  const body = Buffer.from(JSON.stringify({ model: "a/b", max_tokens: 1, messages }));
  const context = { headers: {}, sessionId: undefined, serviceMetadata: false };
  const { request } = parseMessages(body, scanObject(body, "body"), context);
  // Formerly the result was written once for each of the calls, 15 MB and more.
  expect(request.inputJson.length).toBeLessThan(2 * body.length);
});
