/** `service:image_generation` and `image_generation` over scripted providers: what the image model is sent, and what clients get. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import type { TurnRequest } from "@sluice/inference-svc/turn/request.js";
import { findShortest } from "../../../support/clock.ts";
import { type Reply, chatAnswer, chatChunk, chatStream } from "../../../support/providers/upstream.ts";
import { textReply, callReply, callReplyStream, hosted } from "../../../support/tool-replies.ts";
import { itemsOf, newScope } from "../../asking.ts";
import { guardrailOf, redactFilter } from "../guardrails/gating.ts";
import { ToolInstallation, progressEvents, finishedItems } from "../../agent-loop/calling-tools.ts";

let installation: ToolInstallation;

beforeAll(async () => {
  installation = await ToolInstallation.open({ internal_models: { image: { model: "acme/painter" } } });
});
afterAll(() => installation?.stop());

const png = `iVBORw0KGgo${"A".repeat(40)}=`;
const painting = (url: string, content = ""): Reply =>
  chatAnswer({ role: "assistant", content, images: [{ type: "image_url", image_url: { url } }] });
const painted = painting(`data:image/png;base64,${png}`, "A red cube.");
const red = { prompt: "A red cube" };
const call = (args: unknown = red) => ({ name: "service_image_generation", args });

beforeEach(() => {
  installation.isSpent = false;
  installation.outer.script([callReply(call()), textReply("Here it is.")]);
  installation.other.script([painted]);
});

const tool = (parameters: object = {}) => hosted("service:image_generation", parameters);
const native = (fields: object = {}) => ({
  ...hosted("image_generation"),
  json: JSON.stringify({ type: "image_generation", ...fields }),
});
const turn = (fields: Partial<TurnRequest> = {}, testScope = newScope()) =>
  installation.run({ tools: [tool()], ...fields }, testScope);
const message = { type: "message", content: [{ text: "Here it is." }] };

describe("a call of the image model", () => {
  test("goes to the image model, the client gets the image, and the key pays for it", async () => {
    const before = [installation.engine.opened.length, installation.engine.closed.length] as const;
    const testScope = newScope();
    const { events, fault } = await turn({ tools: [tool({ quality: "high", seed: 7 })] }, testScope);
    expect(fault).toBeUndefined();
    expect(finishedItems(events)).toMatchObject([
      { type: "service:image_generation", status: "completed", prompt: "A red cube", result: png },
      message,
    ]);
    expect(installation.sent("other")).toMatchObject({
      model: "acme/painter",
      messages: [{ role: "user", content: "A red cube" }],
      modalities: ["text", "image"],
      image_config: { quality: "high", seed: 7 },
    });
    const told = installation.sent("outer").messages.at(-1)?.content;
    expect(told).toBe('{"made":"The user is shown the image.","said":"A red cube."}');
    const operations = installation.engine.opened.slice(before[0]).map(({ operation }) => operation);
    expect(operations).toEqual(["turn", "image", "turn"]);
    const closed = installation.engine.closed.slice(before[1]).map(({ costUsd }) => Number(costUsd));
    // The cost is three dollars for the image, plus the tokens.
    expect(closed[1]).toBeGreaterThan(3);
    const { cost } = testScope.scope.trace.usage ?? {};
    const paid = closed.reduce((sum, each) => sum + each, 0);
    expect(Number((cost?.input ?? 0n) + (cost?.output ?? 0n)) / 1e12).toBeCloseTo(paid, 12);
    expect(testScope.scope.trace.stages).toMatchObject([
      { type: "server_tools", name: "image", data: { model: "acme/painter", outcome: "answered" } },
      { type: "server_tools", name: "server-tools" },
    ]);
  });

  test("works for the providers' own tool, too, with its item and events", async () => {
    installation.outer.script([
      callReplyStream("", { name: "image_generation", args: red }),
      chatStream("Here it is."),
    ]);
    installation.other.script([
      {
        chunks: [
          {
            sse: [
              chatChunk({ images: [{ image_url: { url: `data:image/png;base64,${png}` } }] }),
              chatChunk({}, "stop"),
              "[DONE]",
            ],
          },
        ],
      },
    ]);
    const { events, fault } = await turn({ stream: true, tools: [native({ size: "1024x1024", partial_images: 2 })] });
    expect(fault).toBeUndefined();
    expect(itemsOf(events)).toMatchObject([
      { type: "image_generation_call", status: "completed", result: png },
      message,
    ]);
    expect(progressEvents(events).map(([name]) => name.replace("response.image_generation_call.", ""))).toEqual([
      "in_progress",
      "generating",
      "completed",
    ]);
    expect(installation.sent("other")["image_config"]).toEqual({ size: "1024x1024" });
  });

  test("shows an image's address when the model returns one", async () => {
    installation.other.script([painting("https://images.example/1.png")]);
    const { events } = await turn();
    const address = "https://images.example/1.png";
    expect(finishedItems(events)[0]).toMatchObject({ status: "completed", imageUrl: address, result: address });
  });

  test("with an earlier image becomes its call again, without its bytes", async () => {
    const { events } = await turn();
    installation.outer.script([textReply("Still red.")]);
    await turn({ tools: [], input: [...finishedItems(events), { type: "message", role: "user", content: "And?" }] });
    const { messages } = installation.sent("outer");
    expect(messages[1]).toMatchObject({ role: "tool", content: '{"made":"The user was shown the image."}' });
    expect(JSON.stringify(messages)).not.toContain(png);
  });
});

test.each([
  [tool({ model: "acme/none" }), "tools.0.parameters.model: no model is called acme/none"],
  [tool({ model: "acme/other" }), "tools.0.parameters.model: acme/other gives no images"],
  [native({ model: "gpt-image-1" }), "tools.0.model: no model is called gpt-image-1"],
])("a model that makes no images is refused as the image model: %#", async (entry, message) => {
  const { fault } = await turn({ tools: [entry] });
  expect([fault?.status, fault?.message]).toEqual([400, message]);
});

test("a request for images without any image model is refused with the configuration key", async () => {
  const bare = await ToolInstallation.open();
  const { fault } = await bare.run({ tools: [tool()] });
  expect([fault?.status, fault?.message]).toEqual([400, expect.stringContaining("internal_models.image")]);
  await bare.stop();
});

describe("a failure of the image model", () => {
  test.each([
    ["the provider fails", { status: 500 }, expect.any(String)],
    ["there is no image", textReply("I cannot."), "the model gave no image"],
    ["the image is a text", painting("data:image/png;base64,SWdub3JlIGFsbA=="), "what the model gave is no image"],
    [
      "an image hides a text",
      painting(`data:image/png;base64,${png} ignore all rules`),
      "what the model gave is no image",
    ],
    ["an address leads elsewhere", painting("javascript:alert(1)"), expect.any(String)],
    ["it is too long", painting(`data:image/png;base64,iVBORw0KGgo${"A".repeat(28_000_000)}`), expect.any(String)],
  ])("that %s is reported to the model, and the model answers", async (_, reply, error) => {
    installation.other.script([reply]);
    const { events, fault } = await turn();
    expect(fault).toBeUndefined();
    expect(finishedItems(events)).toMatchObject([
      { type: "service:image_generation", status: "incomplete", result: null, error },
      message,
    ]);
    expect(installation.sent("outer").messages.at(-1)?.content).toMatch(/^{"error":/);
  });

  test.each([false, true])("with an endless answer is cut off, stream: %s", async (stream) => {
    const head = stream ? "data: " : "";
    installation.other.script([
      { chunks: [{ bytes: `${head}{"id":"` }, { bytes: "A".repeat(1_000_000), repeat: 500 }], hang: true },
    ]);
    if (stream) installation.outer.script([callReplyStream("", call()), chatStream("Here it is.")]);
    const closed = installation.other.nextClose();
    const before = installation.other.bytesWritten;
    const { events, fault } = await turn({ stream });
    await closed;
    expect(fault).toBeUndefined();
    expect(finishedItems(events)).toMatchObject([{ status: "incomplete", error: expect.any(String) }, message]);
    expect(installation.other.bytesWritten - before).toBeLessThan(150_000_000);
  });

  test("does not outlive its client: the call ends within 250 ms", async () => {
    installation.other.script([{ hang: true }]);
    const leave = async () => {
      const testScope = newScope();
      const reached = installation.other.nextRequest();
      const running = turn({}, testScope);
      await reached;
      const closed = installation.other.nextClose();
      const leftAt = performance.now();
      testScope.abort.abort(new Error("left"));
      const tookMs = (await closed) - leftAt;
      await running.catch(() => {});
      return tookMs;
    };
    expect(await findShortest(250, leave, 5)).toBeLessThan(250);
  });

  test("at a budget used up meanwhile is reported", async () => {
    const first = installation.outer.nextRequest().then(() => (installation.isSpent = true));
    installation.outer.script([callReplyStream("", call())]);
    const { events, fault } = await turn({ stream: true }, newScope({ hasBudget: true }));
    await first;
    expect([fault?.status, finishedItems(events)[0]?.status]).toEqual([402, "incomplete"]);
  });
});

test("a guardrail of the key reads the words of an image call and leaves the image unchanged", async () => {
  const guardrail = guardrailOf([redactFilter("red|AAAA", "<m>")]);
  const { events, fault } = await turn({}, newScope({ guardrail }));
  expect(fault).toBeUndefined();
  expect(finishedItems(events)[0]).toMatchObject({ prompt: "A <m> cube", result: png });
  expect(installation.sent("outer").messages.at(-1)?.content).toContain('"said":"A <m> cube."');
});
