/** AI SDK 7 with the newest `@ai-sdk/openai`: conversations of two turns, with tools, as its documentation shows them. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import {
  type ModelMessage,
  defaultSettingsMiddleware,
  generateText,
  stepCountIs,
  streamText,
  tool,
  wrapLanguageModel,
} from "ai7";
import { createOpenAI } from "ai-sdk-openai-4";
import { z } from "zod";
import { type Installation, startInstallation } from "../../support/installation.ts";

globalThis.AI_SDK_LOG_WARNINGS = false;

const tools = {
  weather: tool({
    description: "Current weather of a town",
    inputSchema: z.object({ town: z.string() }),
    execute: ({ town }) => ({ town, sky: "clear" }),
  }),
};
const question: ModelMessage = { role: "user", content: "Weather in Oslo?" };
const next: ModelMessage = { role: "user", content: "And tomorrow?" };

const config = `
providers: [{id: sluice, dialect: echo}]
models: [{id: sluice/echo, endpoints: [{provider: sluice}]}]
responses: {remember_items: 1h}
`;

let installation: Installation;
let remembering: Installation;

beforeAll(async () => {
  [installation, remembering] = await Promise.all([startInstallation(), startInstallation({ config })]);
});
afterAll(() => Promise.all([installation?.stop(), remembering?.stop()]));

const modelOf = ({ baseUrl, apiKey }: Installation) =>
  createOpenAI({ baseURL: baseUrl, apiKey }).responses("sluice/echo");
const plain = () => modelOf(installation);

/** The one setting needed by a client of a server without storage, made once for every call. */
const model = () =>
  wrapLanguageModel({
    model: plain(),
    middleware: defaultSettingsMiddleware({ settings: { providerOptions: { openai: { store: false } } } }),
  });

test("generateText of the AI SDK sends text, calls and results back in a second turn", async () => {
  const first = await generateText({ model: model(), messages: [question], tools, stopWhen: stepCountIs(5) });
  expect(first.steps.map(({ finishReason }) => finishReason)).toEqual(["tool-calls", "stop"]);
  expect(first.text).toContain('"sky":"clear"');
  const messages = [question, ...first.response.messages, next];
  const second = await generateText({ model: model(), messages, tools, stopWhen: stepCountIs(5) });
  expect(second.text).toContain("And tomorrow?");
});

test("streamText of the AI SDK runs tools and sends its reasoning back", async () => {
  const providerOptions = { openai: { store: false, reasoningEffort: "low", forceReasoning: true } };
  const sendRequest = async (messages: ModelMessage[]) => {
    const result = streamText({ model: plain(), messages, tools, stopWhen: stepCountIs(5), providerOptions });
    return { text: await result.text, said: (await result.response).messages };
  };
  const first = await sendRequest([question]);
  expect(first.text).toContain('"sky":"clear"');
  expect((await sendRequest([question, ...first.said, next])).text).toContain("And tomorrow?");
});

test("an AI SDK client that refers to stored items gets a 400 with the setting to change", async () => {
  const hello: ModelMessage = { role: "user", content: "Hello" };
  const first = await generateText({ model: plain(), messages: [hello] });
  const second = generateText({ model: plain(), messages: [hello, ...first.response.messages, next], maxRetries: 0 });
  await expect(second).rejects.toMatchObject({
    statusCode: 400,
    message: expect.stringMatching(/^input\.1\.id: names no earlier item .* store: false/),
  });
});

test("a gateway with remember_items needs no setting of the AI SDK: text, calls, reasoning and a third turn", async () => {
  const providerOptions = { openai: { reasoningEffort: "low", forceReasoning: true } };
  const sendRequest = async (messages: ModelMessage[]) => {
    const result = streamText({
      model: modelOf(remembering),
      messages,
      tools,
      stopWhen: stepCountIs(5),
      providerOptions,
    });
    return { text: await result.text, said: (await result.response).messages };
  };
  const first = await sendRequest([question]);
  expect(first.text).toContain('"sky":"clear"');
  const second = await sendRequest([question, ...first.said, next]);
  expect(second.text).toContain("And tomorrow?");
  const messages = [question, ...first.said, next, ...second.said, { role: "user" as const, content: "And then?" }];
  const third = await generateText({ model: modelOf(remembering), messages, tools, stopWhen: stepCountIs(5) });
  expect(third.text).toContain("And then?");
});
