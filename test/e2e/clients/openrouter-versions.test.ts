/** The OpenRouter SDK in two majors, through both formats of turns, and its embeddings. */
import { expect } from "@jest/globals";
import type { OpenRouter } from "@openrouter/sdk";
import type * as models from "@openrouter/sdk/models";
import { testCoverage } from "../../support/clients/coverage.ts";
import { clientStage, pixelUrl } from "../../support/clients/stage.ts";

interface Responses {
  send(
    request: { responsesRequest: models.ResponsesRequest },
    options?: { signal: AbortSignal },
  ): ReturnType<OpenRouter["responses"]["send"]>;
}

const load = async (name: string) => (await import(name)) as { OpenRouter: typeof OpenRouter };

const parameters = { type: "object", properties: { town: { type: "string" } }, required: ["town"] };
const schema = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
const stage = clientStage();

const question = (content: string): models.ChatMessages => ({ role: "user", content });
const quickly = { initialInterval: 10, maxInterval: 50, exponent: 1.5, maxElapsedTime: 60_000 };

for (const name of ["@openrouter/sdk", "openrouter-sdk-0"]) {
  const { OpenRouter: Client } = await load(name);
  // The client retries a 5xx for an hour by default.
  const client = (strategy: "none" | "backoff" = "none") =>
    new Client({
      apiKey: stage.installation.apiKey,
      serverURL: stage.installation.baseUrl,
      retryConfig: strategy === "none" ? { strategy } : { strategy, backoff: quickly, retryConnectionErrors: true },
    });

  const complete = async (chatRequest: models.ChatRequest, strategy?: "backoff") => {
    const answer = await client(strategy).chat.send({
      chatRequest: { model: "sluice/echo", ...chatRequest, stream: false },
    });
    if (!("choices" in answer)) throw new Error("a stream where none was asked for");
    return answer.choices[0]?.message as models.ChatAssistantMessage;
  };

  testCoverage(name, "chat", {
    text: async () => {
      expect((await complete({ messages: [question("Name a moon.")] })).content).toContain("Name a moon.");
    },
    stream: async () => {
      const stream = await client().chat.send({
        chatRequest: { model: "sluice/echo", messages: [question("Count to three.")], stream: true },
      });
      let text = "";
      let tokens = 0;
      for await (const { choices, usage } of stream as AsyncIterable<models.ChatStreamChunk>) {
        text += choices[0]?.delta.content ?? "";
        tokens += usage?.completionTokens ?? 0;
      }
      expect(text).toContain("Count to three.");
      expect(tokens).toBeGreaterThan(0);
    },
    tools: async () => {
      const tools: models.ChatFunctionTool[] = [{ type: "function", function: { name: "w", parameters } }];
      const messages = [question("Weather in Oslo?")];
      const answer = await complete({ messages, tools });
      const [call] = answer.toolCalls ?? [];
      expect(call?.function.name).toBe("w");
      const result = { role: "tool" as const, toolCallId: call?.id ?? "", content: "clear sky" };
      const second = await complete({ messages: [...messages, { ...answer, role: "assistant" }, result], tools });
      expect(second.content).toContain("clear sky");
    },
    "structured output": async () => {
      const { content } = await complete({
        messages: [question("A moon?")],
        responseFormat: { type: "json_schema", jsonSchema: { name: "moon", schema, strict: true } },
      });
      expect(JSON.parse(content as string)).toEqual({ name: "example" });
    },
    images: async () => {
      stage.answer("A dot.");
      const content = [{ type: "image_url" as const, imageUrl: { url: pixelUrl } }];
      const { content: text } = await complete({ model: "far/model", messages: [{ role: "user", content }] });
      expect([text, stage.picture()]).toEqual(["A dot.", pixelUrl]);
    },
    errors: async () => {
      const unknown = complete({ model: "nobody/nothing", messages: [question("x")] });
      await expect(unknown).rejects.toMatchObject({ statusCode: 404, name: "NotFoundResponseError" });
    },
    abort: async () => {
      const closed = stage.hang();
      const leaving = new AbortController();
      const stream = await client().chat.send(
        { chatRequest: { model: "far/model", messages: [question("x")], stream: true } },
        { fetchOptions: { signal: leaving.signal } },
      );
      const reading = (async () => {
        const chunks = stream as AsyncIterable<models.ChatStreamChunk>;
        for await (const chunk of chunks) if (chunk.choices[0]?.delta.content) leaving.abort();
      })();
      await expect(reading).rejects.toThrow(/abort/i);
      await closed;
    },
    retries: async () => {
      stage.upstream.script([{ status: 500 }]);
      const asked = stage.upstream.nextRequest();
      const answer = complete({ model: "far/model", messages: [question("x")] }, "backoff");
      await asked;
      stage.answer("Now.");
      expect((await answer).content).toBe("Now.");
    },
  });

  const responses = (strategy?: "backoff"): Responses => {
    const made = client(strategy) as unknown as { responses?: Responses; beta: { responses: Responses } };
    return made.responses ?? made.beta.responses;
  };
  const respond = async (request: models.ResponsesRequest, strategy?: "backoff") => {
    const answer = await responses(strategy).send({
      responsesRequest: { model: "sluice/echo", ...request, stream: false },
    });
    if (!("output" in answer)) throw new Error("a stream where none was asked for");
    return answer;
  };

  testCoverage(name, "responses", {
    text: async () => {
      expect(JSON.stringify((await respond({ input: "Name a moon." })).output)).toContain("Name a moon.");
    },
    stream: async () => {
      const stream = await responses().send({
        responsesRequest: { model: "sluice/echo", input: "Count to three.", stream: true },
      });
      let text = "";
      for await (const event of stream as AsyncIterable<models.StreamEvents>) {
        if (event.type === "response.output_text.delta") text += event.delta;
      }
      expect(text).toContain("Count to three.");
    },
    tools: async () => {
      const tools = [{ type: "function" as const, name: "w", parameters, strict: null }];
      const input: models.InputsUnion1[] = [{ role: "user", content: "Weather in Oslo?" }];
      const { output } = await respond({ input, tools });
      const [call] = output as models.OutputFunctionCallItem[];
      expect(call).toMatchObject({ type: "function_call", name: "w" });
      const result = { type: "function_call_output" as const, callId: call?.callId ?? "", output: "clear sky" };
      const second = await respond({ input: [...input, call as models.InputsUnion1, result], tools });
      expect(JSON.stringify(second.output)).toContain("clear sky");
    },
    "structured output": async () => {
      const format = { type: "json_schema" as const, name: "moon", schema, strict: true };
      const { output } = await respond({ input: "A moon?", text: { format } });
      expect(output).toMatchObject([{ content: [{ text: expect.stringContaining('"name"') }] }]);
    },
    images: async () => {
      stage.answer("A dot.");
      const content = [{ type: "input_image" as const, imageUrl: pixelUrl, detail: "auto" as const }];
      await respond({ model: "far/model", input: [{ role: "user", content }] });
      expect(stage.picture()).toBe(pixelUrl);
    },
    errors: async () => {
      const unknown = respond({ model: "nobody/nothing", input: "x" });
      await expect(unknown).rejects.toMatchObject({ statusCode: 404, name: "NotFoundResponseError" });
    },
    abort: async () => {
      const closed = stage.hang();
      const stream = (await responses().send({
        responsesRequest: { model: "far/model", input: "x", stream: true },
      })) as ReadableStream<models.StreamEvents>;
      for await (const event of stream) if (event.type === "response.output_text.delta") break;
      await closed;
    },
    retries: async () => {
      stage.upstream.script([{ status: 500 }]);
      const asked = stage.upstream.nextRequest();
      const answer = respond({ model: "far/model", input: "x" }, "backoff");
      await asked;
      stage.answer("Now.");
      expect(JSON.stringify((await answer).output)).toContain("Now.");
    },
  });

  const embed = (model: string, input: string[]) =>
    client().embeddings.generate({ requestBody: { model, input } }) as Promise<{ data: { embedding: number[] }[] }>;

  testCoverage(name, "embeddings", {
    embeddings: async () => {
      const vectors = stage.embed(2);
      expect((await embed("far/embed", ["a b", "c d"])).data.map(({ embedding }) => embedding)).toEqual(vectors);
    },
    errors: async () => {
      await expect(embed("near/none", ["a b"])).rejects.toMatchObject({ statusCode: 404 });
    },
  });
}
