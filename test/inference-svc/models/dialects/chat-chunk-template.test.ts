/** Chunks read by a template instead of parsed again give the same events. */
import { expect, test } from "@jest/globals";
import { ChunkTemplate } from "@sluice/inference-svc/models/upstream/chat/chunk-template.js";
import { ChatTranslator } from "@sluice/inference-svc/models/upstream/chat/stream.js";
import type { TurnEvent } from "@sluice/inference-svc/turn/turn.js";
import fc from "../../../support/properties.js";
import { testRequest } from "../../asking.js";

const content = fc.oneof(
  fc.string(),
  fc.constantFrom("", '"', "\\", "\n", "\u2028", '","content":"no', "\u{1f600}", "words", "a".repeat(50)),
);
const choice = fc.oneof(
  { weight: 6, arbitrary: content.map((text) => ({ index: 0, delta: { content: text }, finish_reason: null })) },
  content.map((text) => ({ index: 0, delta: { role: "assistant", content: text, refusal: null }, logprobs: null })),
  content.map((text) => ({ index: 0, delta: { content: "x", reasoning_content: text } })),
  content.map((text) => ({ index: 1, delta: { content: text } })),
  content.map((text) => ({ index: 0, delta: { content: text }, message: { content: "other" }, finish_reason: "" })),
);
const chunk = fc.oneof(
  { weight: 6, arbitrary: choice.map((one) => ({ id: "c", object: "chat.completion.chunk", choices: [one] })) },
  choice.map((one) => ({ id: "c", choices: [one], usage: { prompt_tokens: 3, completion_tokens: 1 } })),
  fc.tuple(choice, content).map(([one, text]) => ({ content: text, choices: [one], service_tier: "flex" })),
);

function read(texts: readonly string[]): readonly unknown[] {
  const events: TurnEvent[] = [];
  const target = { upstreamModel: "m", tier: "default", original: false } as const;
  const translator = new ChatTranslator(testRequest({}), target, (event) => events.push(event));
  for (const text of texts) translator.event(undefined, text);
  // Random ids for each answer.
  return JSON.parse(JSON.stringify(events).replaceAll(/"(msg|rs)_\w+"/g, '"id"')) as unknown[];
}

test("the chunk template gives the same events as a parser for any chunks, in any order", () => {
  fc.assert(
    fc.property(fc.array(chunk, { maxLength: 12 }), (chunks) => {
      const alike = chunks.map((each) => JSON.stringify(each));
      // Different indentation gives each chunk a different beginning.
      const different = alike.map((text, index) => `{${" ".repeat(index)}${text.slice(1)}`);
      expect(read(alike)).toEqual(read(different));
    }),
    { numRuns: 1_000 },
  );
});

const said = (text: string, more = "") => `{"choices":[{"delta":{"content":"${text}"}}]${more}}`;
const noted = (text: string): ChunkTemplate => {
  const alike = new ChunkTemplate();
  alike.note(text, JSON.parse(text) as { [field: string]: unknown });
  return alike;
};

test("the chunk template reads the text of a chunk similar to an earlier chunk", () => {
  const alike = noted(said("One"));
  expect(alike.readContent(said("two, \u{1f600}"))).toBe("two, \u{1f600}");
  for (const other of [said('\\"'), said("a", ',"x":1'), "[DONE]", said("two").slice(0, -1)]) {
    expect(alike.readContent(other)).toBeUndefined();
  }
});

test("the chunk template does not mistake another field for the content", () => {
  const decoy = '{"model":{"content":"One"},"choices":[{"delta":{"content":"One"}}]}';
  expect(noted(decoy).readContent(decoy.replace("One", "two"))).toBeUndefined();
});

test("the chunk template is given up if another field changes in every chunk", () => {
  const alike = new ChunkTemplate();
  const changing = (n: number, text: string) => `{"id":"${n}","choices":[{"delta":{"content":"${text}"}}]}`;
  for (let n = 0; n < 5; n++)
    alike.note(changing(n, "a"), JSON.parse(changing(n, "a")) as { [field: string]: unknown });
  expect(alike.readContent(changing(2, "b"))).toBe("b");
  expect(alike.readContent(changing(4, "b"))).toBeUndefined();
});

test("a chunk with escaped text makes no template", () => {
  const alike = noted('{"content":"\\"","choices":[{"delta":{"content":"\\\\"}}]}');
  expect(alike.readContent('{"content":"\\"","choices":[{"delta":{"content":"a"}}]}')).toBeUndefined();
});
