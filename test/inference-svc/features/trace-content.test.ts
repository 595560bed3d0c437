/** Messages of traces: their form, and their maximum size, whatever items contain. */
import { describe, expect, test } from "@jest/globals";
import { ContentBudget } from "@sluice/inference-svc/features/trace-content/content-budget.js";
import { TurnContent } from "@sluice/inference-svc/features/trace-content/turn-content.js";
import { TracedParts } from "@sluice/inference-svc/features/trace-content/messages.js";
import type { Span } from "@sluice/proto/lib/tracing/span.js";
import { findMinCpuMs, measureCpuMs } from "../../support/clock.ts";
import { testRequest } from "../asking.ts";
import type { InputItem } from "@sluice/inference-svc/turn/request.js";
import fc from "fast-check";

const traced = (item: InputItem, bytes = 10_000) => new TracedParts(new ContentBudget(bytes)).message(item);
const text = (content: string) => ({ type: "text", content });

describe("a text in a trace", () => {
  test("is cut so that its JSON fits, at the greatest possible length", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 400 }), fc.integer({ min: 10, max: 500 }), (given, bytes) => {
        const budget = new ContentBudget(bytes);
        const taken = budget.takeText(given);
        const size = Buffer.byteLength(JSON.stringify(taken)) - 2;
        expect(size).toBeLessThanOrEqual(bytes - 2);
        expect(budget.isCut).toBe(taken !== given);
        if (taken === given) return;
        expect(given.startsWith(taken.slice(0, -1))).toBe(true);
        expect(size).toBeGreaterThan(bytes - 2 - 3 - 12);
      }),
      { seed: 20_261_130, numRuns: 2_000 },
    );
  });

  test("of ten million characters costs no more than its allowed size", async () => {
    const content = "\u0001".repeat(10_000_000);
    const cpuMs = () => measureCpuMs(() => expect(traced({ type: "message", role: "user", content })).toBeDefined());
    expect(await findMinCpuMs(1_000, cpuMs)).toBeLessThan(1_000);
  });
});

test("arguments in a trace are the text of the model, however deep or long", () => {
  const deep = "[".repeat(10_000) + "]".repeat(10_000);
  const call = (given: string) => ({ type: "function_call", call_id: "a", name: "f", arguments: given });
  expect(traced(call(deep), 100_000)).toEqual({
    role: "assistant",
    parts: [{ type: "tool_call", id: "a", name: "f", arguments: deep }],
  });
  const long = traced(call(`[${"1,".repeat(5_000_000)}1]`), 1_024);
  expect(Buffer.byteLength(JSON.stringify(long))).toBeLessThanOrEqual(1_024);
});

describe("an item in a trace has the form of the conventions:", () => {
  test.each<[string, InputItem, object]>([
    [
      "a screenshot",
      {
        type: "computer_call_output",
        call_id: "a",
        output: { type: "computer_screenshot", image_url: "data:image/png;base64,iVBO" },
      },
      {
        role: "tool",
        parts: [{ type: "tool_call_response", id: "a", response: [{ type: "blob", modality: "image", content: "" }] }],
      },
    ],
    [
      "a data URL in capitals",
      { type: "message", role: "user", content: [{ type: "input_image", image_url: "DATA:image/png;base64,iVBO" }] },
      { role: "user", parts: [{ type: "blob", modality: "image", content: "" }] },
    ],
    [
      "an address with a credential",
      { type: "message", role: "user", content: [{ type: "input_file", file_url: "https://a.example/b.pdf?sig=x#y" }] },
      { role: "user", parts: [{ type: "uri", modality: "document", uri: "https://a.example/b.pdf" }] },
    ],
    [
      "the output of a shell",
      {
        type: "shell_call_output",
        call_id: "a",
        output: [{ stdout: "one", stderr: "two", outcome: { type: "exit" } }],
      },
      { role: "tool", parts: [{ type: "tool_call_response", id: "a", response: [text("one"), text("two")] }] },
    ],
    [
      "the output of a local shell",
      { type: "local_shell_call_output", id: "a", output: "one" },
      { role: "tool", parts: [{ type: "tool_call_response", id: "a", response: "one" }] },
    ],
    [
      "an output without a text",
      { type: "apply_patch_call_output", call_id: "a", status: "completed" },
      { role: "tool", parts: [{ type: "tool_call_response", id: "a", response: "" }] },
    ],
    [
      "an approval",
      { type: "mcp_approval_response", approval_request_id: "a", approve: true },
      { role: "user", parts: [{ type: "mcp_approval_response" }] },
    ],
    [
      "thoughts",
      { type: "reasoning", id: "a", summary: [{ type: "summary_text", text: "So." }], encrypted_content: "secret" },
      { role: "assistant", parts: [{ type: "reasoning", content: "So." }] },
    ],
  ])("%s", (_, item, message) => {
    expect(traced(item)).toEqual(message);
  });
});

test("a message of a million parts costs no more than its allowed size in a trace", async () => {
  const content = Array.from({ length: 1_000_000 }, () => ({ type: "input_text", text: "a" }));
  const cpuMs = () =>
    measureCpuMs(() => {
      traced({ type: "message", role: "user", content });
      traced({ type: "reasoning", id: "a", content });
    });
  expect(await findMinCpuMs(1_000, cpuMs)).toBeLessThan(1_000);
});

describe("traced content of running turns", () => {
  const spanWith = () => {
    const set: string[] = [];
    const span = {
      setContent: (name: string) => set.push(name),
      set: () => {},
      dropContent: () => set.push("dropped"),
    };
    return { set, span: span as unknown as Span };
  };
  const open = (keyHash: string) => {
    const { set, span } = spanWith();
    const content = new TurnContent({ span, keyHash, maxBytes: 262_144 });
    content.takeRequest(testRequest({ input: [{ type: "message", role: "user", content: "ä".repeat(200_000) }] }));
    return { set, content };
  };

  test("takes at most 16 MiB for one key until the turns end, and 64 MiB for all keys", () => {
    const turns = Array.from({ length: 100 }, () => open("one"));
    const dropped = turns.filter(({ set }) => set.includes("dropped"));
    expect(dropped.length).toBe(100 - 64);
    const others = Array.from({ length: 4 }, (_, key) => Array.from({ length: 70 }, () => open(`other ${key}`))).flat();
    expect(others.filter(({ set }) => !set.includes("dropped")).length).toBe(3 * 64);
    for (const { content } of [...turns, ...others]) content.end("stop", false);
    expect(open("one").set).toEqual([]);
  });

  test("has no request that was refused, and is ended once", () => {
    const { set, content } = open("two");
    content.end("error", true);
    content.end("stop", false);
    expect(set).toEqual(["gen_ai.output.messages"]);
  });
});

test("no item makes a traced message larger than its allowed size", () => {
  const item = fc.record({ type: fc.constantFrom("message", "function_call", "reasoning", "function_call_output") });
  const fields = fc.record({
    role: fc.string({ unit: "binary" }),
    content: fc.jsonValue(),
    summary: fc.jsonValue(),
    output: fc.jsonValue(),
    call_id: fc.jsonValue(),
    name: fc.string({ unit: "binary" }),
    arguments: fc.string({ unit: "binary", maxLength: 3_000 }),
  });
  fc.assert(
    fc.property(item, fields, fc.integer({ min: 200, max: 2_000 }), (type, more, bytes) => {
      const message = traced({ ...more, ...type }, bytes);
      expect(Buffer.byteLength(JSON.stringify([message]))).toBeLessThanOrEqual(bytes);
    }),
    { seed: 20_261_130, numRuns: 2_000 },
  );
});
