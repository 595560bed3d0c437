/** Some thousand random requests. More of them: npm run fuzz. */
import { describe, expect, test } from "@jest/globals";
import { document } from "../../../support/answers/published.ts";
import { scanObject } from "@sluice/proto/lib/json/scan.js";
import { fixedSeed } from "../../../support/runner/fixed-seed.ts";
import { generateBody } from "../../../support/random-requests/bodies.ts";
import { runRequestCampaign } from "./campaign.ts";
import type { FuzzedFormat } from "../../../support/random-requests/format.ts";
import { formats } from "../../../support/random-requests/formats.ts";
import { judgeFuzzedBody } from "../../../support/random-requests/judge.ts";
import { requestRules } from "../../../support/random-requests/rules.ts";

describe("random requests", () => {
  test.each([
    ["responses", 3_000],
    ["chat", 1_500],
    ["messages", 1_500],
    ["count_tokens", 750],
    ["compact", 750],
    ["input_tokens", 750],
    ["frames", 1_000],
    ["embeddings", 1_000],
  ] as const)(
    "in the format %s are answered as documented",
    async (name, count) => {
      const limits = { seed: fixedSeed, count, seconds: Number.POSITIVE_INFINITY };
      const report = await runRequestCampaign({ format: formats[name], ...limits });
      process.stdout.write(
        `fuzz ${name}: seed ${fixedSeed}, ${report.bodies} bodies, ${report.accepted} of them accepted\n`,
      );
      expect(report.complaints).toEqual([]);
      // Every check is seen to accept and to refuse.
      expect(report.accepted).toBeGreaterThan(report.bodies / 10);
      expect(report.accepted).toBeLessThan((report.bodies * 9) / 10);
    },
    900_000,
  );

  test("with null tools do not hide servers with tools", () => {
    const messages = [{ role: "user", content: "Hello" }];
    const mcp_servers = [{ type: "url", name: "crm", url: "https://crm.example/mcp" }];
    const body = Buffer.from(
      JSON.stringify({ model: "acme/large", max_tokens: 9, messages, tools: null, mcp_servers }),
    );
    const { complaint, accepted } = judgeFuzzedBody(formats.messages, body, false);
    expect(complaint).toBeUndefined();
    expect(accepted?.turn.tools).toMatchObject([{ type: "hosted", kind: "mcp" }]);
  });

  const body = { model: "acme/large", max_tokens: 9 };
  const call = { role: "assistant", content: "x", reasoning_details: [{ type: "reasoning.text", text: "x", id: "" }] };
  const said = (part: object) => ({ ...body, messages: [{ role: "user", content: [part] }] });
  test.each([
    ["compact", { ...body, input: { role: "user", content: "x" } }, "input"],
    ["compact", { ...body, input: [] }, "input"],
    ["frames", { ...body, input: { role: "user", content: "x" } }, "input"],
    ["frames", { ...body, input: "x", stream: "yes" }, "stream"],
    ["chat", said({ type: "file", file: {} }), "messages.0.content.0.file.file_data"],
    [
      "chat",
      said({ type: "video_url", video_url: { url: "data:text/plain,x" } }),
      "messages.0.content.0.video_url.url",
    ],
    [
      "chat",
      said({ type: "image_url", image_url: { url: "data:text/plain,x" } }),
      "messages.0.content.0.image_url.url",
    ],
    ["messages", { ...body, messages: [{ role: "user", content: [] }] }, "messages"],
    ["messages", said({ type: "tool_result", tool_use_id: "x" }), "messages.0.content.0.tool_use_id"],
    ["chat", { ...said({ type: "text", text: "x" }), tool_choice: "any" }, "tool_choice"],
    ["chat", { ...said({ type: "text", text: "x" }), function_call: { name: "f" } }, "function_call.name"],
    ["chat", { ...body, messages: [call] }, undefined],
  ] as const)("with %s: %j are refused by the name of their field", (name, value, path) => {
    const format: FuzzedFormat = formats[name];
    const bytes = Buffer.from(JSON.stringify(value));
    const refusal = () => format.accept(bytes, scanObject(bytes, "body"), false);
    if (path === undefined) expect(refusal).not.toThrow();
    else expect(refusal).toThrow(expect.objectContaining({ message: expect.stringContaining(`${path}: `) }));
    expect(judgeFuzzedBody(format, bytes, false).complaint).toBeUndefined();
  });

  test("are the same for the same seed", () => {
    for (let number = 0; number < 50; number++)
      expect(generateBody(7, number).equals(generateBody(7, number))).toBe(true);
    expect(generateBody(7, 1).equals(generateBody(8, 1))).toBe(false);
  });

  const text = JSON.stringify(document);
  test.each(requestRules)("are refused by rules of the published document, such as $message", ({ stated }) => {
    expect(text).toContain(stated);
  });

  test.each(["", "{", "null", '{"model":"a","input":1}', '{"model":"a","input":"b","temperature":3}'])(
    "such as %j are refused as documented",
    (body) => {
      expect(judgeFuzzedBody(formats.responses, Buffer.from(body), false)).toEqual({
        accepted: undefined,
        complaint: undefined,
      });
    },
  );
});
