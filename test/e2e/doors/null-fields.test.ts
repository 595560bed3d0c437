/** A null field means the same as an absent one, in each format where clients may send null. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { chatRequestShape } from "@sluice/gateway/contract/chat/request.js";
import { messagesRequest } from "@sluice/gateway/contract/messages/request.js";
import { embeddingsRequest } from "@sluice/proto/contract/request/embeddings.js";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { type Upstream, chatAnswer, startUpstream } from "../../support/providers/upstream.ts";

const messages = [{ role: "user", content: "Hello" }];
const vectors = {
  object: "list",
  data: [{ object: "embedding", index: 0, embedding: [1] }],
  usage: { prompt_tokens: 1 },
};
const answers = {
  chat: chatAnswer({ role: "assistant", content: "Hi." }),
  embeddings: { chunks: [{ json: vectors }] },
};

const doors = [
  {
    path: "/chat/completions",
    fields: chatRequestShape.fields,
    body: { model: "far/model", messages },
    answer: answers.chat,
  },
  { path: "/messages", fields: messagesRequest.fields, body: { model: "far/model", messages }, answer: answers.chat },
  {
    path: "/embeddings",
    fields: embeddingsRequest.fields,
    body: { model: "far/embed", input: "Hello" },
    answer: answers.embeddings,
  },
];

let upstream: Upstream;
let installation: Installation;

beforeAll(async () => {
  upstream = await startUpstream();
  installation = await startInstallation({
    config: `
providers:
  - {id: far, dialect: chat, base_url: "${upstream.url}/v1"}
models:
  - {id: far/model, endpoints: [{provider: far}]}
  - {id: far/embed, output_modalities: [embeddings], endpoints: [{provider: far}]}
`,
  });
});
afterAll(async () => {
  await installation?.stop();
  await upstream?.stop();
});

async function asked(path: string, body: object): Promise<string> {
  const response = await fetch(`${installation.baseUrl}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${installation.apiKey}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  expect([JSON.stringify(body), response.status, text]).toEqual([expect.any(String), 200, expect.any(String)]);
  expect(response.headers.get("x-sluice-warning")).toBeNull();
  return (upstream.requests.at(-1) as { body: string }).body;
}

describe.each(doors)("a request to $path", ({ path, fields, body, answer }) => {
  const open = Object.keys(fields).filter((name) => !(name in body));

  test.each(open)("with null for %s is the same as without the field", async (name) => {
    upstream.script([answer]);
    expect(await asked(path, { ...body, [name]: null })).toBe(await asked(path, body));
  });
});

test("a request with null as its model is the same as without a model", async () => {
  upstream.script([answers.chat]);
  const { body } = doors[0] as (typeof doors)[0];
  expect(await asked("/chat/completions", { ...body, model: null, models: ["far/model"] })).toContain("Hello");
});
