/** No output rule lets forbidden text out through the doors of other formats, in any channel of a provider. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { hashKey } from "@sluice/proto/lib/ids/key.js";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { type Upstream, startUpstream } from "../../support/providers/upstream.ts";
import { answersWithForbiddenWord, forbiddenWord, findForbiddenPart } from "./guarded-answers.ts";

const dialects = ["chat", "responses", "messages", "gemini", "converse", "cohere"];
const doors: readonly (readonly [path: string, settings: object])[] = [
  ["/chat/completions", {}],
  ["/messages", { max_tokens: 1_000, thinking: { type: "adaptive" } }],
];

let upstream: Upstream;
let installation: Installation;
let guarded: string;
/** Doors and dialects that delivered the words when no rule forbade them. */
const shown = new Set<string>();

beforeAll(async () => {
  upstream = await startUpstream();
  const access = (dialect: string) =>
    dialect === "converse" ? "aws: {region: eu-central-1, access_key_id: A, secret_access_key: s}" : "api_keys: [k]";
  installation = await startInstallation({
    config: `
providers:
${dialects.map((dialect) => `  - {id: ${dialect}, dialect: ${dialect}, base_url: "${upstream.url}", ${access(dialect)}}\n`).join("")}
models:
${dialects.map((dialect) => `  - {id: ${dialect}/model, endpoints: [{provider: ${dialect}, upstream_model: m}]}\n`).join("")}
`,
  });
  const { key } = JSON.parse((await installation.admin("keys", "create", "--name", "guarded", "--json")).stdout) as {
    key: string;
  };
  guarded = key;
  const filters = [{ pattern: forbiddenWord, label: "<metal>", action: "redact" }];
  const made = await administer("/guardrails", { name: "metal", content_filters: filters, applies_to: "output" });
  const { data } = (await made.json()) as { data: { id: string } };
  await administer(`/guardrails/${data.id}/assignments/keys`, { key_hashes: [hashKey(key)] });
});
afterAll(async () => {
  await installation?.stop();
  await upstream?.stop();
});

const post = (path: string, body: object, key: string) =>
  fetch(`${installation.baseUrl}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", "x-service-metadata": "enabled" },
    body: JSON.stringify(body),
  });
const administer = (path: string, body: object) => post(path, body, installation.managementKey);

describe.each(doors)("an answer at %s with an output guardrail", (path, settings) => {
  test.each(answersWithForbiddenWord)(
    "shows no forbidden word in the channel $channel of $dialect",
    async ({ dialect, streamed, whole }) => {
      const messages = [{ role: "user", content: "Say it" }];
      for (const stream of [true, false]) {
        const body = { model: `${dialect}/model`, messages, stream, ...settings };
        upstream.script([stream ? streamed : whole]);
        const text = await (await post(path, body, guarded)).text();
        expect([stream, findForbiddenPart(text)]).toEqual([stream, undefined]);
        upstream.script([stream ? streamed : whole]);
        if (findForbiddenPart(await (await post(path, body, installation.apiKey)).text()))
          shown.add(`${path} ${dialect} ${stream}`);
      }
    },
  );
});

test("the answers of every format and dialect show the forbidden words without a guardrail", () => {
  const all = doors.flatMap(([path]) =>
    dialects.flatMap((dialect) => [true, false].map((stream) => `${path} ${dialect} ${stream}`)),
  );
  expect([...shown].toSorted()).toEqual(all.toSorted());
});
