/** The requests by which servers of the Open Responses format are compared, sent to an installation with fill_defaults. */
import { LLMock } from "@copilotkit/aimock";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { testProgram } from "../../support/clients/coverage.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { type OpenResponse, response, streamEvent } from "../../support/answers/open-responses.ts";
import { parseSse } from "../../support/answers/sse.ts";

const user = (content: unknown) => ({ type: "message", role: "user", content });

const getWeather = {
  type: "function",
  name: "get_weather",
  description: "Current weather of a place",
  parameters: { type: "object", properties: { location: { type: "string" } }, required: ["location"] },
};

/** A PNG of 32 by 32 pixels. */
const redSquare =
  "iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAIAAAD8GO2jAAAAJ0lEQVR42u3NsQkAAAjAsP7/tF7hIASyp6lTCQQCgUAgEAgEgi/BAjLD/C5w/SM9AAAAAElFTkSuQmCC";

/** Requests by their names in the published comparison. */
const requests = {
  "basic-response": { input: [user("Say hello in three words.")] },
  "system-prompt": {
    input: [{ type: "message", role: "system", content: "You are a pirate." }, user("Say hello.")],
  },
  "multi-turn": {
    input: [
      user("My name is Alice."),
      { type: "message", role: "assistant", content: "Hello Alice, how can I help?" },
      user("Say hello to me by name."),
    ],
  },
  "image-input": {
    input: [
      user([
        { type: "input_text", text: "Say hello and the colour of this." },
        { type: "input_image", image_url: `data:image/png;base64,${redSquare}` },
      ]),
    ],
  },
  "assistant-phase": {
    input: [
      user("Look it up."),
      { type: "message", role: "assistant", phase: "commentary", content: "I am looking it up." },
      { type: "message", role: "assistant", phase: "final_answer", content: "It is 42." },
      user("Say hello."),
    ],
  },
  "tool-calling": { input: [user("What is the weather in San Francisco?")], tools: [getWeather] },
};

testProgram("Open Responses", {
  "its requests, whole and streamed, with `compat.fill_defaults: true`": () => {
    describe.each(["sluice/echo", "far/chat", "far/responses"])("an Open Responses client and %s", (model) => {
      const provider = new LLMock({ port: 0 });
      let installation: Installation;

      beforeAll(async () => {
        provider.onMessage(/hello/i, { content: "Hello to you." });
        provider.onMessage("weather", {
          toolCalls: [{ name: "get_weather", arguments: '{"location":"San Francisco"}' }],
        });
        await provider.start();
        installation = await startInstallation({
          config: `
providers:
  - {id: sluice, dialect: echo}
  - {id: chat, dialect: chat, base_url: "${provider.url}/v1"}
  - {id: responses, dialect: responses, base_url: "${provider.url}/v1"}
models:
  - {id: sluice/echo, input_modalities: [text, image], endpoints: [{provider: sluice}]}
  - {id: far/chat, input_modalities: [text, image], endpoints: [{provider: chat, upstream_model: gpt-4o}]}
  - {id: far/responses, input_modalities: [text, image], endpoints: [{provider: responses, upstream_model: gpt-4o}]}
compat: {fill_defaults: true}
`,
        });
      });
      afterAll(async () => {
        await installation?.stop();
        await provider.stop();
      });

      const post = (body: object) =>
        fetch(`${installation.baseUrl}/responses`, {
          method: "POST",
          headers: { authorization: `Bearer ${installation.apiKey}`, "content-type": "application/json" },
          body: JSON.stringify({ model, ...body }),
        });

      async function answerTo(body: object): Promise<OpenResponse> {
        const answer = await post(body);
        const json: unknown = await answer.json();
        expect([answer.status, json]).toEqual([200, expect.anything()]);
        return response.parse(json);
      }

      async function streamOf(body: object) {
        const answer = await post({ ...body, stream: true });
        const { events, done } = parseSse(await answer.text());
        expect(done).toBe(true);
        return events.map((event) => streamEvent.parse(event));
      }

      test.each(Object.entries(requests))("gets a valid response to the request %s", async (name, body) => {
        const { status, output } = await answerTo(body);
        expect(status).toBe("completed");
        expect(output).not.toHaveLength(0);
        expect(output.some((item) => item.type === "function_call")).toBe(name === "tool-calling");
      });

      test.each(Object.entries(requests))("reads the streamed answer to the request %s", async (name, body) => {
        const events = await streamOf(body);
        const terminal = events.at(-1);
        if (terminal?.type !== "response.completed") throw new Error(`ends with ${JSON.stringify(terminal)}`);
        expect(terminal.response.status).toBe("completed");
        expect(terminal.response.output).not.toHaveLength(0);
        const kinds = new Set<string>(events.map((event) => event.type));
        const delta = name === "tool-calling" ? "response.function_call_arguments.delta" : "response.output_text.delta";
        expect([...kinds]).toEqual(expect.arrayContaining(["response.created", delta, "response.output_item.done"]));
      });
    });
  },
});
