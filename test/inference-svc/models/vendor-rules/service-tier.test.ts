/** A requested tier reaches OpenAI at its only endpoint, and is named as unsent everywhere else. */
import { describe, expect, test } from "@jest/globals";
import type { TurnRequest } from "@sluice/inference-svc/turn/request.js";
import type { Target } from "@sluice/inference-svc/models/upstream/dialect.js";
import { responsesBody } from "@sluice/inference-svc/models/upstream/responses/request.js";
import { testRequest } from "../../asking.js";
import { otherChat, translateChat, vendorChat } from "../dialects/chat-translation.js";
import { cohereTarget, translateToCohere } from "../dialects/cohere-translation.js";
import { claudeOnBedrock, translateToConverse } from "../dialects/converse-translation.js";
import { geminiTarget, translateToGemini } from "../dialects/gemini-translation.js";
import { messagesTarget, translateToMessages } from "../dialects/messages-translation.js";

interface Translated {
  readonly body: Record<string, unknown>;
  readonly losses: readonly [string, string][];
}

function translateToResponses(request: Partial<TurnRequest>, target: Target): Translated {
  const losses: [string, string][] = [];
  const text = responsesBody(testRequest(request), target, (path, reason) => void losses.push([path, reason]));
  return { body: JSON.parse(text) as Record<string, unknown>, losses };
}

const vendors: readonly [string, (request: Partial<TurnRequest>) => Translated][] = [
  ["chat", (request) => translateChat(request, vendorChat)],
  ["responses", (request) => translateToResponses(request, { ...otherChat, reasoningFormat: "openai-responses-v1" })],
];

const others: readonly [string, (request: Partial<TurnRequest>, tier?: string) => Translated][] = [
  ["chat", (request, tier = "default") => translateChat(request, { ...otherChat, tier })],
  ["responses", (request, tier = "default") => translateToResponses(request, { ...otherChat, tier })],
  ["messages", (request, tier = "default") => translateToMessages(request, { ...messagesTarget, tier })],
  ["gemini", (request, tier = "default") => translateToGemini(request, { ...geminiTarget, tier })],
  ["converse", (request, tier = "default") => translateToConverse(request, { ...claudeOnBedrock, tier })],
  ["cohere", (request, tier = "default") => translateToCohere(request, { ...cohereTarget, tier })],
];

describe.each(vendors)("OpenAI in the format %s", (_format, translate) => {
  test.each([
    ["default", "default"],
    ["flex", "flex"],
    ["priority", "priority"],
    ["fast", "priority"],
    ["scale", "scale"],
  ])("is sent %s as %s", (serviceTier, sent) => {
    const { body, losses } = translate({ serviceTier });
    expect(body.service_tier).toBe(sent);
    expect(losses).toEqual([]);
  });

  test("is sent ultrafast as its fastest tier", () => {
    const { body, losses } = translate({ serviceTier: "ultrafast" });
    expect(body.service_tier).toBe("priority");
    expect(losses).toEqual([["service_tier", "sent as priority"]]);
  });

  test.each(["auto", undefined])("gets no tier for %s", (serviceTier) => {
    expect(translate(serviceTier === undefined ? {} : { serviceTier }).body).not.toHaveProperty("service_tier");
  });
});

describe.each(others)("another server in the format %s", (_format, translate) => {
  test.each([
    ["flex", "no endpoint of the tier flex is configured"],
    ["fast", "no endpoint of the tier priority is configured"],
  ])("is not sent %s, with a note", (serviceTier, reason) => {
    const { body, losses } = translate({ serviceTier });
    expect(JSON.stringify(body)).not.toMatch(/flex|priority/);
    expect(losses).toContainEqual(["service_tier", reason]);
  });

  test.each(["auto", "default"])("needs no note for %s", (serviceTier) => {
    expect(translate({ serviceTier }).losses.filter(([path]) => path === "service_tier")).toEqual([]);
  });

  test("is not blamed for a tier that it does not know", () => {
    const { losses } = translate({ serviceTier: "priority" }, "priority");
    expect(losses.map(([, reason]) => reason)).not.toContainEqual(expect.stringContaining("is configured"));
  });
});
