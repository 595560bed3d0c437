/** The messages door with LangChain and the AI SDK: cases that the tests of all client versions do not have. */
import { createAnthropic } from "@ai-sdk/anthropic";
import { describe, expect, test } from "@jest/globals";
import { ChatAnthropic } from "@langchain/anthropic";
import { HumanMessage } from "@langchain/core/messages";
import * as ai6 from "ai";
import * as ai7 from "ai7";
import { createAnthropic as createAnthropic4 } from "ai-sdk-anthropic-4";
import { clientStage, pixelUrl } from "../../support/clients/stage.ts";
import { chatChunk } from "../../support/providers/upstream.ts";

const imageUrl = "https://a.example/a.png";
const url = (path: string) => ({ type: "image_url", image_url: { url: path } });
const shown = [url(pixelUrl), url(imageUrl), { type: "text", text: "What is it?" }];

// The SDK prints a warning for each unknown model.
globalThis.AI_SDK_LOG_WARNINGS = false;

const stage = clientStage();

/** The parts of the last message sent to the provider. */
function lastParts(): unknown {
  const body = stage.upstream.requests.at(-1)?.json as { messages: { content: unknown }[] } | undefined;
  return body?.messages.at(-1)?.content;
}

/** Makes the provider break off once the word has been read. */
function breakAfterWord(): () => void {
  let go = () => {};
  const after = new Promise<void>((resolve) => (go = resolve));
  const word = { sse: [chatChunk({ role: "assistant", content: "One" })] };
  stage.upstream.script([{ chunks: [word, { bytes: ": \n\n", after }], cut: true }]);
  return go;
}

describe("@langchain/anthropic", () => {
  const model = () =>
    new ChatAnthropic({
      model: "far/model",
      apiKey: stage.installation.apiKey,
      anthropicApiUrl: stage.installation.baseUrl.replace(/\/v1$/, ""),
      maxRetries: 0,
    });

  test("sends images by data URL and by URL", async () => {
    stage.answer("A dot.");
    const content = [url(pixelUrl), url(imageUrl), { type: "text" as const, text: "What is it?" }];
    expect((await model().invoke([new HumanMessage({ content })])).text).toBe("A dot.");
    expect(lastParts()).toEqual(shown);
  });

  test("throws for a broken-off stream", async () => {
    const go = breakAfterWord();
    const reading = (async () => {
      for await (const chunk of await model().stream("x")) if (chunk.text === "One") go();
    })();
    await expect(reading).rejects.toThrow();
  });
});

/** Both majors have these functions with the same names; their types differ from each other. */
type AiSdk = typeof ai6;

const settings = () => ({ baseURL: stage.installation.baseUrl, apiKey: stage.installation.apiKey });
const sdks: readonly (readonly [name: string, ai: AiSdk, model: () => ai6.LanguageModel])[] = [
  ["ai 6", ai6, () => createAnthropic(settings())("far/model")],
  ["ai 7", ai7 as unknown as AiSdk, () => createAnthropic4(settings())("far/model") as unknown as ai6.LanguageModel],
];

describe.each(sdks)("%s with @ai-sdk/anthropic", (_, ai, modelOf) => {
  test("sends images by bytes and by URL", async () => {
    stage.answer("A dot.");
    const content = [
      { type: "image" as const, image: Buffer.from(pixelUrl.split(",")[1] as string, "base64") },
      { type: "image" as const, image: new URL(imageUrl) },
      { type: "text" as const, text: "What is it?" },
    ];
    const answer = await ai.generateText({ model: modelOf(), messages: [{ role: "user", content }] });
    expect(answer.text).toBe("A dot.");
    expect(lastParts()).toEqual(shown);
  });

  test("throws for a broken-off stream", async () => {
    const go = breakAfterWord();
    const errors: unknown[] = [];
    const onError = ({ error }: { error: unknown }) => void errors.push(error);
    const torn = ai.streamText({ model: modelOf(), prompt: "x", maxRetries: 0, onError });
    for await (const part of torn.fullStream) if (part.type === "text-delta") go();
    expect(errors).toHaveLength(1);
  });
});
