/** The built-in catalogue against the known behaviour of vendors: each fact is a field that a vendor answered with 200, and must be sent. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TurnRequest } from "@sluice/inference-svc/turn/request.js";
import { loadConfig } from "@sluice/proto/config/config-file.js";
import { readSeed } from "@sluice/proto/config/seed.js";
import { root } from "../../../support/processes.ts";
import { type Engine, testRequest, functionTool, newScope, openEngine } from "../../asking.ts";

type Asked = Partial<TurnRequest>;

const forced: Asked = { tools: [functionTool({ name: "f" })], toolChoice: "required" };
const named: Asked = { tools: forced.tools ?? [], toolChoice: { type: "tool", tool: { type: "function", name: "f" } } };
const thinking = (maxTokens: number): Asked => ({ reasoning: { maxTokens }, maxOutputTokens: 20_000 });

/** Dialect, vendor and model; the settings of the request; the fields that must be sent, and must not be listed as left out. */
const facts: readonly (readonly [at: string, asked: Asked, sent: object])[] = [
  ["messages anthropic claude-sonnet-5", named, { tool_choice: { type: "tool", name: "f" } }],
  ["messages anthropic claude-opus-5", forced, { tool_choice: { type: "any" } }],
  ["messages anthropic claude-fable-5", forced, { tool_choice: { type: "any" } }],
  [
    "messages anthropic claude-opus-4-6",
    { ...forced, reasoning: { effort: "high" } },
    { tool_choice: { type: "any" }, thinking: { type: "adaptive" }, output_config: { effort: "high" } },
  ],
  ["messages anthropic claude-sonnet-4-6", thinking(3_000), { thinking: { type: "enabled", budget_tokens: 3_000 } }],
  ["messages anthropic claude-sonnet-4-6", { reasoning: { effort: "low" } }, { thinking: { type: "adaptive" } }],
  ["messages anthropic claude-sonnet-4-6", { maxOutputTokens: 128_000 }, { max_tokens: 128_000 }],
  ["messages anthropic claude-haiku-4-5", { ...thinking(1_024), temperature: 1 }, { temperature: 1 }],
  ["messages anthropic claude-3-haiku-20240307", { temperature: 0.5, topP: 0.5 }, { temperature: 0.5, top_p: 0.5 }],
  ["messages anthropic claude-sonnet-4-20250514", { temperature: 0.5, topP: 0.5 }, { temperature: 0.5, top_p: 0.5 }],
  ["messages anthropic claude-haiku-4-5", { temperature: 0.2, topK: 40 }, { temperature: 0.2, top_k: 40 }],
  ["messages anthropic claude-haiku-4-5", thinking(1_024), { thinking: { type: "enabled", budget_tokens: 1_024 } }],
  ["responses openai gpt-5.4-nano", { temperature: 0 }, { temperature: 0 }],
  ["responses openai gpt-5.2", { topP: 0.9, topLogprobs: 2 }, { top_p: 0.9, top_logprobs: 2 }],
  [
    "responses openai gpt-5.6-sol",
    { temperature: 0.5, reasoning: { effort: "none" } },
    { temperature: 0.5, reasoning: { effort: "none" } },
  ],
  ["chat openai gpt-5.4-mini", { temperature: 0.1 }, { temperature: 0.1 }],
  [
    "chat openai gpt-4o-mini",
    { frequencyPenalty: 0.5, presencePenalty: 0.3, seed: 100, stop: ["foo"] },
    { frequency_penalty: 0.5, presence_penalty: 0.3, seed: 100, stop: ["foo"] },
  ],
  ["chat openai gpt-4.1-nano", { seed: 1_014, temperature: 0 }, { seed: 1_014, temperature: 0 }],
  ["responses xai grok-4.3", { reasoning: { effort: "high" } }, { reasoning: { effort: "high" } }],
  ["chat xai grok-4.5", { reasoning: { effort: "low" } }, { reasoning_effort: "low" }],
  ["chat mistral mistral-small-2603", { reasoning: { effort: "none" } }, { reasoning_effort: "none" }],
  ["chat mistral mistral-small-2603", { reasoning: { effort: "high" } }, { reasoning_effort: "high" }],
  ["chat mistral mistral-large-2512", { promptCacheKey: "k" }, { prompt_cache_key: "k" }],
  [
    "chat mistral mistral-large-2512",
    { frequencyPenalty: 0.25, presencePenalty: 0.5 },
    { frequency_penalty: 0.25, presence_penalty: 0.5 },
  ],
  ["chat groq openai/gpt-oss-120b", { ...forced, reasoning: { effort: "medium" } }, { reasoning_effort: "medium" }],
  ["responses deepseek deepseek-v4-flash", { reasoning: { effort: "high" } }, { reasoning: { effort: "high" } }],
  [
    "gemini google gemini-3.5-flash",
    thinking(512),
    { generationConfig: { thinkingConfig: { thinkingBudget: 512, includeThoughts: true } } },
  ],
  ["gemini google gemini-3.5-flash", { temperature: 0, seed: 1 }, { generationConfig: { temperature: 0, seed: 1 } }],
  ["gemini google gemini-3.1-flash-lite", { topK: 40 }, { generationConfig: { topK: 40 } }],
];

/** Fields answered with 400 by the vendor: they must be absent from the body, and listed in `not_sent`. */
const refused: readonly (readonly [at: string, asked: Asked, absent: readonly string[], named: readonly string[]])[] = [
  ["messages anthropic claude-opus-5-5", forced, [], ["tool_choice"]],
  ["messages anthropic claude-opus-4-7", thinking(3_000), [], ["reasoning.max_tokens"]],
  ["messages anthropic claude-opus-4-1-20250805", { temperature: 0.5, topP: 0.5 }, ["top_p"], ["top_p"]],
  ["messages anthropic claude-haiku-4-5", { ...thinking(1_024), temperature: 0.5 }, ["temperature"], ["temperature"]],
  ["messages anthropic claude-haiku-4-5", { ...forced, ...thinking(2_000) }, ["thinking"], ["reasoning.max_tokens"]],
  ["responses openai gpt-5.4", { temperature: 0, reasoning: { effort: "low" } }, ["temperature"], ["temperature"]],
  ["responses openai gpt-5.5", { temperature: 0 }, ["temperature"], ["temperature"]],
  ["responses openai gpt-5", { temperature: 0, reasoning: { effort: "none" } }, ["temperature"], ["temperature"]],
  ["responses openai gpt-4o-mini", { frequencyPenalty: 0.5 }, ["frequency_penalty"], ["frequency_penalty"]],
];

const schemaJson = '{"type":"object","properties":{"city":{"type":"string"}}}';
const answer: Asked = {
  instructions: "Be brief.",
  textFormat: { type: "json_schema", name: "n", description: "A place.", schemaJson, strict: true },
};
const words = `Be brief.

Answer with one JSON object and nothing else: no other words, and no code fence.
What the object is: A place.
The object is valid by this JSON Schema: ${schemaJson}`;

/** Vendors with a JSON mode and no enforced schemas get the schema in words. Groq has no JSON mode next to tools. */
const inWords: readonly (readonly [at: string, asked: Asked, format: object | undefined])[] = [
  ["chat deepseek deepseek-v4-flash", answer, { type: "json_object" }],
  ["responses deepseek deepseek-v4-pro", answer, { type: "json_object" }],
  ["chat deepseek deepseek-v4-pro", { ...answer, ...forced }, { type: "json_object" }],
  ["chat moonshotai kimi-k3", answer, { type: "json_object" }],
  ["chat groq llama-3.3-70b-versatile", answer, { type: "json_object" }],
  ["chat groq llama-3.1-8b-instant", { ...answer, ...forced }, undefined],
];

/** A level that a model does not know becomes the nearest one, and thinking is never disabled where it was requested. */
const levels = [
  ["chat xai grok-4.5", "none", "low"],
  ["chat xai grok-4.6", "xhigh", "high"],
  ["responses xai grok-4.6", "minimal", "low"],
  ["chat mistral mistral-medium-3-5", "low", "high"],
  ["chat groq openai/gpt-oss-20b", "none", "low"],
] as const;

const slugOf = (at: string): string => at.replaceAll(" ", "-").toLowerCase();

describe("the built-in catalogue", () => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-test-facts-"));
  let engine: Engine;

  beforeAll(() => {
    const places = new Set([...facts, ...refused, ...inWords, ...levels].map(([at]) => at));
    const providers = new Map<string, object>();
    const models = [...places].map((at) => {
      const [dialect, vendor, name] = at.split(" ");
      const id = `${vendor}-${dialect}`;
      providers.set(id, { id, dialect, vendor, base_url: "http://127.0.0.1:1/v1", api_keys: ["k"] });
      return { id: slugOf(at), endpoints: [{ provider: id, upstream_model: name }] };
    });
    const path = join(folder, "sluice.yaml");
    writeFileSync(path, JSON.stringify({ providers: [...providers.values()], models }));
    const seed = readSeed(join(root, "inference-svc/models/catalog/seed.json"));
    engine = openEngine(loadConfig(path, {}, seed).file);
  });
  afterAll(async () => {
    await engine.upstreams.close();
    rmSync(folder, { recursive: true });
  });

  async function sentTo(at: string, asked: Asked) {
    const request = testRequest({ models: [slugOf(at)], stream: false, maxOutputTokens: 1_000, ...asked });
    const { plan } = await engine.planDryRun(request, newScope().scope);
    const [first] = plan;
    return {
      body: JSON.parse(first?.bodyJson ?? "null") as Record<string, unknown>,
      losses: (first?.losses ?? []).map(({ path }) => path),
    };
  }

  test.each(facts)("sends %s its accepted fields: %j", async (at, asked, sent) => {
    const { body, losses } = await sentTo(at, asked);
    expect(body).toMatchObject(sent);
    expect(losses).toEqual([]);
  });

  test.each(refused)("does not send %s its refused fields: %j", async (at, asked, absent, paths) => {
    const { body, losses } = await sentTo(at, asked);
    for (const field of absent) expect(body[field]).toBeUndefined();
    expect(losses).toEqual(paths);
  });

  test.each(inWords)("sends %s the schema of an answer in words", async (at, asked, format) => {
    const { body, losses } = await sentTo(at, asked);
    const [first] = (body["messages"] ?? []) as { content: string }[];
    expect(body["instructions"] ?? first?.content).toBe(words);
    expect(body["response_format"] ?? (body["text"] as { format: object } | undefined)?.format).toEqual(format);
    expect(losses[0]).toBe("text.format");
  });

  test.each(levels)("sends %s an effort of %s as %s, and names it", async (at, effort, sent) => {
    const { body, losses } = await sentTo(at, { reasoning: { effort } });
    expect(body["reasoning_effort"] ?? (body["reasoning"] as { effort?: string } | undefined)?.effort).toBe(sent);
    expect(losses).toEqual(["reasoning.effort"]);
  });
});
