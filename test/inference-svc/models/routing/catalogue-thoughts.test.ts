/**
 * Each built-in thinking model at its second turn with a tool: the thought before the call goes back in the field in which its vendor takes it, or
 * the receipt names it as left out. Several vendors answer 400 to a call without its thought.
 */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { InputItem } from "@sluice/inference-svc/turn/request.js";
import { loadConfig } from "@sluice/proto/config/config-file.js";
import { readSeed } from "@sluice/proto/config/seed.js";
import { root } from "../../../support/processes.ts";
import { type Engine, testRequest, functionTool, newScope, openEngine } from "../../asking.ts";

const thought = "THOUGHT-7";
const open = { summary: [], content: [{ type: "reasoning_text", text: thought }] };
const sealed = (format: string) => ({ summary: [], encrypted_content: thought, format });
const signed = (format: string) => ({
  summary: [],
  content: [{ type: "reasoning_text", text: "t" }],
  signature: thought,
  format,
});

interface Vendor {
  readonly dialect: string;
  readonly base_url: string;
  /** The thought as the vendor's answer gives it. */
  readonly given: object;
  /** The place of the thought in the second request; undefined for a vendor without a field for it. */
  readonly field: RegExp | undefined;
}

const vendors: Readonly<Record<string, Vendor>> = {
  openai: {
    dialect: "responses",
    base_url: "https://api.openai.com/v1",
    given: sealed("openai-responses-v1"),
    field: /"encrypted_content":"THOUGHT-7"/,
  },
  anthropic: {
    dialect: "messages",
    base_url: "https://api.anthropic.com/v1",
    given: signed("anthropic-claude-v1"),
    field: /"signature":"THOUGHT-7"/,
  },
  google: {
    dialect: "gemini",
    base_url: "https://generativelanguage.googleapis.com/v1beta",
    given: signed("google-gemini-v1"),
    field: /"thoughtSignature":"THOUGHT-7"/,
  },
  mistral: {
    dialect: "chat",
    base_url: "https://api.mistral.ai/v1",
    given: open,
    field: /"type":"thinking","thinking":\[\{"type":"text","text":"THOUGHT-7"/,
  },
  groq: { dialect: "chat", base_url: "https://api.groq.com/openai/v1", given: open, field: /"reasoning":"THOUGHT-7"/ },
  deepseek: {
    dialect: "chat",
    base_url: "https://api.deepseek.com/v1",
    given: open,
    field: /"reasoning_content":"THOUGHT-7"/,
  },
  moonshotai: {
    dialect: "chat",
    base_url: "https://api.moonshot.ai/v1",
    given: open,
    field: /"reasoning_content":"THOUGHT-7"/,
  },
  // "The Chat Completions API ... has no field for the model's encrypted reasoning" (https://docs.x.ai/developers/model-capabilities/text/best-practices).
  xai: { dialect: "chat", base_url: "https://api.x.ai/v1", given: open, field: undefined },
};

/** The vendor whose reasoning another of its formats takes back. */
const xaiResponses: Vendor = {
  dialect: "responses",
  base_url: "https://api.x.ai/v1",
  given: sealed("xai-responses-v1"),
  field: /"encrypted_content":"THOUGHT-7"/,
};

const seed = readSeed(join(root, "inference-svc/models/catalog/seed.json"));

describe.each([...Object.entries(vendors), ["xai", xaiResponses] as const])("the catalogue of %s", (vendor, how) => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-test-thoughts-"));
  const path = join(folder, "sluice.yaml");
  let engine: Engine;
  let thinking: readonly string[];

  beforeAll(() => {
    const { dialect, base_url } = how;
    const provider = { id: vendor, vendor, dialect, base_url, api_keys: ["k"], known_models: true };
    writeFileSync(path, JSON.stringify({ providers: [provider] }));
    const { file } = loadConfig(path, {}, seed);
    thinking = file.models
      .filter(({ endpoints }) => endpoints.some(({ supported_parameters: names }) => names?.includes("reasoning")))
      .map(({ id }) => id);
    engine = openEngine(file);
  });
  afterAll(async () => {
    await engine.upstreams.close();
    rmSync(folder, { recursive: true });
  });

  const call = { call_id: "call_1", name: "f", arguments: "{}" };
  const input: readonly InputItem[] = [
    { type: "message", role: "user", content: "q" },
    { type: "reasoning", id: "rs_1", ...how.given },
    { type: "function_call", id: "fc_1", ...call },
    { type: "function_call_output", call_id: call.call_id, output: "3" },
  ];

  test(`takes reasoning back in ${how.dialect}${how.field ? "" : " nowhere, which receipts name"}`, async () => {
    expect(thinking.length).toBeGreaterThan(0);
    for (const id of thinking) {
      const { plan } = await engine.planDryRun(
        testRequest({ models: [id], input: [...input], tools: [functionTool({ name: "f" })] }),
        newScope().scope,
      );
      const { bodyJson = "", losses = [] } = plan[0] ?? {};
      const left = losses.map((loss) => loss.path).filter((each) => each.startsWith("input."));
      if (how.field) {
        expect([id, bodyJson]).toEqual([id, expect.stringMatching(how.field)]);
        expect([id, left]).toEqual([id, []]);
      } else {
        expect([id, bodyJson]).toEqual([id, expect.not.stringContaining(thought)]);
        expect([id, left]).toEqual([id, ["input.1"]]);
      }
    }
  });
});

test("every vendor of the catalogue with a thinking model in its own format is in the test matrix", () => {
  const served = new Set(
    seed.models.flatMap(({ endpoints }) =>
      endpoints.flatMap(({ vendor, supported_parameters: names }) => (names?.includes("reasoning") ? [vendor] : [])),
    ),
  );
  // Bedrock serves models of several vendors, each with its own form of reasoning.
  served.delete("amazon-bedrock");
  expect([...served].sort()).toEqual(Object.keys(vendors).sort());
});
