/**
 * Text matched by a guardrail's rules in an answer reaches no socket, in any format and channel, streamed or whole, and
 * however the text is cut.
 */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { hashKey } from "@sluice/proto/lib/ids/key.js";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { checkLadder } from "../../support/answers/ladder-rules.ts";
import { parseSse } from "../../support/answers/sse.ts";
import { type Upstream, chatChunk, startUpstream } from "../../support/providers/upstream.ts";
import { answersWithForbiddenWord, forbiddenWord, findForbiddenPart } from "./guarded-answers.ts";

const dialects = ["chat", "responses", "messages", "gemini", "converse", "cohere"];

let upstream: Upstream;
let installation: Installation;
/** Keys by the action of their guardrail's rule. */
const keys: Record<string, string> = {};

beforeAll(async () => {
  upstream = await startUpstream();
  const access = (dialect: string) =>
    dialect === "converse"
      ? "aws: {region: eu-central-1, access_key_id: A, secret_access_key: s}"
      : "api_keys: [upstream-key]";
  installation = await startInstallation({
    config: `
providers:
  - {id: sluice, dialect: echo}
${dialects.map((dialect) => `  - {id: ${dialect}, dialect: ${dialect}, base_url: "${upstream.url}", ${access(dialect)}}\n`).join("")}
models:
  - {id: sluice/echo, endpoints: [{provider: sluice, upstream_model: echo}]}
${dialects.map((dialect) => `  - {id: ${dialect}/model, endpoints: [{provider: ${dialect}, upstream_model: m}]}\n`).join("")}
`,
  });
  for (const action of ["block", "redact"]) {
    keys[action] = await guardedKey(`--${action}`, forbiddenWord, "--label", "<metal>", "--applies-to", "output");
  }
});
afterAll(async () => {
  await installation?.stop();
  await upstream?.stop();
});

/** A new key under a new guardrail. */
async function guardedKey(...rules: readonly string[]): Promise<string> {
  const made = await installation.admin("guardrails", "create", "--name", "output", ...rules, "--json");
  const { id } = JSON.parse(made.stdout) as { id: string };
  const created = await installation.admin("keys", "create", "--name", "guarded", "--json");
  const { key } = JSON.parse(created.stdout) as { key: string };
  await installation.admin("guardrails", "assign", id, hashKey(key));
  return key;
}

const sendRequest = (key: string | undefined, model: string, stream: boolean, more: object = {}) =>
  fetch(`${installation.baseUrl}/responses`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      "x-service-metadata": "enabled",
    },
    body: JSON.stringify({ model, input: "Say it", stream, ...more }),
  });

describe.each([true, false])("an output guardrail (stream: %s)", (stream) => {
  test.each(answersWithForbiddenWord)(
    "hides the forbidden word in the channel $channel of $dialect",
    async ({ dialect, streamed, whole }) => {
      upstream.script([stream ? streamed : whole]);
      const redacted = await sendRequest(keys["redact"], `${dialect}/model`, stream);
      const shown = await redacted.text();
      expect([redacted.status, shown]).toEqual([200, expect.stringContaining("<metal>")]);
      expect(findForbiddenPart(shown)).toBeUndefined();
      if (stream) checkLadder(parseSse(shown), false);
      upstream.script([stream ? streamed : whole]);
      const blocked = await sendRequest(keys["block"], `${dialect}/model`, stream);
      const refusal = await blocked.text();
      expect(findForbiddenPart(refusal)).toBeUndefined();
      // In a stream some output may have been sent by then.
      if (blocked.status === 403) expect(refusal).toContain('"patterns":["<metal>"]');
      else expect([stream, refusal]).toEqual([true, expect.stringContaining('"reason":"content_filter"')]);
    },
  );

  test("applies to the built-in model", async () => {
    const key = await guardedKey("--block", "built-in mod", "--label", "model", "--applies-to", "output");
    const answer = await sendRequest(key, "sluice/echo", stream);
    const text = await answer.text();
    expect(text).not.toContain("built-in mod");
    expect(answer.status).toBe(stream ? 200 : 403);
    if (stream) expect(text).toContain('"incomplete_details":{"reason":"content_filter"}');
  });
});

test("an output guardrail that blocks in the middle ends the stream after the permitted part, and the provider call", async () => {
  let deliver = () => {};
  const delivered = new Promise<void>((resolve) => (deliver = resolve));
  upstream.script([
    {
      chunks: [
        { sse: [chatChunk({ role: "assistant", content: "All is well. It is " })] },
        { after: delivered, sse: [chatChunk({ content: "plu" }), chatChunk({ content: "tonium" })] },
      ],
      hang: true,
    },
  ]);
  const closed = upstream.nextClose();
  const answer = await sendRequest(keys["block"], "chat/model", true);
  let text = "";
  for await (const bytes of answer.body as unknown as AsyncIterable<Uint8Array>) {
    text += Buffer.from(bytes).toString();
    if (text.includes("All is well. It is ")) deliver();
  }
  await closed;
  const response = checkLadder(parseSse(text), true) as unknown as Record<string, unknown>;
  expect(response).toMatchObject({
    status: "incomplete",
    incomplete_details: { reason: "content_filter" },
    output: [
      { type: "message", status: "incomplete", content: [{ type: "output_text", text: "All is well. It is " }] },
    ],
    // The answer is billed as produced, including the forbidden tokens.
    usage: { output_tokens: expect.any(Number) },
    service_metadata: { pipeline: [{ type: "guardrail", data: { action: "blocked", patterns: ["<metal>"] } }] },
  });
  expect((response["usage"] as { output_tokens: number }).output_tokens).toBeGreaterThan(3);
});

test("an output guardrail in audit mode delivers a match, and the receipt names the action it would take", async () => {
  const key = await guardedKey("--block", forbiddenWord, "--applies-to", "output", "--mode", "audit");
  const said = answersWithForbiddenWord.find(({ dialect, channel }) => dialect === "chat" && channel === "text");
  upstream.script([said?.whole ?? {}]);
  const answer = (await (await sendRequest(key, "chat/model", false)).json()) as Record<string, unknown>;
  expect(answer).toMatchObject({
    status: "completed",
    output: [{ content: [{ text: `It is ${forbiddenWord} now` }] }],
    service_metadata: { pipeline: [{ data: { action: "blocked", mode: "audit", applies_to: "output" } }] },
  });
});
