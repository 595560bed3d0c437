/**
 * System messages from every door in every format: their order and texts stay the same, and each change is reported. In a request without other
 * messages, the last system message is the question.
 */
import { describe, expect, test } from "@jest/globals";
import { refuseSdk } from "@sluice/inference-svc/models/upstream/ai-sdk/provider.js";
import { callOptions } from "@sluice/inference-svc/models/upstream/ai-sdk/request.js";
import { chat } from "@sluice/inference-svc/models/upstream/chat/dialect.js";
import { cohere } from "@sluice/inference-svc/models/upstream/cohere/dialect.js";
import { converse } from "@sluice/inference-svc/models/upstream/converse/dialect.js";
import type { Dialect, Target } from "@sluice/inference-svc/models/upstream/dialect.js";
import { gemini } from "@sluice/inference-svc/models/upstream/gemini/dialect.js";
import { messages } from "@sluice/inference-svc/models/upstream/messages/dialect.js";
import { responses } from "@sluice/inference-svc/models/upstream/responses/dialect.js";
import type { TurnRequest } from "@sluice/inference-svc/turn/request.js";
import { scanObject } from "@sluice/proto/lib/json/scan.js";
import { turnRequest } from "../../../support/answers/run-turn.ts";
import { formats as doorFormats } from "../../../support/random-requests/formats.ts";
import { toTurn } from "../../../support/random-requests/subject.ts";

interface Message {
  readonly role: string;
  readonly content: unknown;
}

/** Reads a conversation as a door does; the first system message is in the format's field for it, if there is one. */
type Door = (conversation: readonly Message[]) => TurnRequest;

function read(door: "responses" | "chat" | "messages", body: object): TurnRequest {
  const bytes = Buffer.from(JSON.stringify({ model: "m", ...body }));
  return doorFormats[door].accept(bytes, scanObject(bytes, "body"), true).turn;
}

const typed = (items: readonly Message[]) =>
  items.map(({ role, content }) => ({
    type: "message",
    role,
    content: typeof content === "string" ? content : [{ type: "input_text", text: (content as string[])[0] }],
  }));
const plain = (items: readonly Message[]) =>
  items.map(({ role, content }) => ({
    role,
    content: typeof content === "string" ? content : [{ type: "text", text: (content as string[])[0] }],
  }));

const doors: Readonly<Record<string, Door>> = {
  "/responses": (items) => read("responses", { input: typed(items) }),
  "/responses with instructions": ([first, ...items]) =>
    read("responses", {
      ...(first?.role === "user" ? {} : { instructions: first?.content }),
      input: typed(first?.role === "user" ? [first, ...items] : items),
    }),
  "/chat/completions": (items) => read("chat", { messages: plain(items) }),
  "/messages": ([first, ...items]) => {
    const all = first?.role === "user" ? [first, ...items] : items;
    const system = first?.role === "user" ? {} : { system: first?.content };
    // The format has no role for developers.
    const known = all.map(({ role, content }) => ({ role: role === "developer" ? "system" : role, content }));
    return read("messages", { max_tokens: 9, ...system, messages: plain(known) });
  },
  RunTurn: (items) => toTurn(turnRequest("m", typed(items)), true),
};

const fieldDoors: ReadonlySet<string> = new Set(["/responses with instructions", "/messages"]);

type Fields = Readonly<Record<string, unknown>>;
const listOf = (value: unknown): readonly Fields[] => (Array.isArray(value) ? (value as readonly Fields[]) : []);
const inner = (value: unknown): Fields => (value ?? {}) as Fields;
const linesOf = (role: unknown, content: unknown): readonly string[] =>
  (typeof content === "string" ? content.split("\n\n") : listOf(content).map(({ text }) => String(text))).map(
    (text) => `${role === "developer" ? "system" : String(role)}: ${text}`,
  );
const spoken = (list: unknown, content: string): readonly string[] =>
  listOf(list).flatMap((message) => linesOf(message["role"], message[content]));
/** The first system message, in a field of the body. */
const ruled = (content: unknown): readonly string[] => (content === undefined ? [] : linesOf("system", content));

type Writer = Pick<Dialect, "refusal" | "body" | "requestHeaders">;
const aiSdk: Writer = {
  refusal: refuseSdk,
  body: (turn, target, onDropped) => JSON.stringify(callOptions(turn, target, onDropped, "v4")),
};

interface Format {
  readonly dialect: Writer;
  readonly lines: (body: Fields) => readonly string[];
}

const formats: Readonly<Record<string, Format>> = {
  chat: { dialect: chat, lines: (body) => spoken(body["messages"], "content") },
  responses: {
    dialect: responses,
    lines: (body) => [...ruled(body["instructions"]), ...spoken(body["input"], "content")],
  },
  messages: { dialect: messages, lines: (body) => [...ruled(body["system"]), ...spoken(body["messages"], "content")] },
  gemini: {
    dialect: gemini,
    lines: (body) => [...ruled(inner(body["systemInstruction"])["parts"]), ...spoken(body["contents"], "parts")],
  },
  converse: { dialect: converse, lines: (body) => [...ruled(body["system"]), ...spoken(body["messages"], "content")] },
  cohere: { dialect: cohere, lines: (body) => spoken(body["messages"], "content") },
  "the AI SDK": { dialect: aiSdk, lines: (body) => spoken(body["prompt"], "content") },
};

const server: Target = { upstreamModel: "m", tier: "default", original: false };
const vendor: Target = { ...server, original: true };

interface Sent {
  readonly lines: readonly string[];
  /** Places in the conversation, with the instructions as the first, of messages whose role was changed. */
  readonly changed: readonly number[];
  /** Places of messages that were joined with the message before. */
  readonly joined: readonly number[];
}

function send({ dialect, lines }: Format, turn: TurnRequest, target: Target): Sent {
  expect(dialect.refusal(turn, target)).toBeUndefined();
  const losses: [path: string, reason: string][] = [];
  const body = JSON.parse(dialect.body(turn, target, (path, reason) => losses.push([path, reason]))) as Fields;
  const shift = turn.instructions === undefined ? 0 : 1;
  const placeOf = (path: string) => (path === "instructions" ? 0 : Number(path.split(".")[1]) + shift);
  const placesOf = (pattern: RegExp) =>
    losses.flatMap(([path, reason]) => (pattern.test(reason) ? [placeOf(path)] : []));
  const sent = { changed: placesOf(/sent as the user's/), joined: placesOf(/^repaired: joined/) };
  expect(sent.changed.length + sent.joined.length).toBe(losses.length);
  return { ...sent, lines: lines(body) };
}

const say = (role: string, content: unknown): Message => ({ role, content });

const scenes: Readonly<
  Record<string, { items: readonly Message[]; lines: readonly string[]; changed: readonly number[] }>
> = {
  "one prompt alone": { items: [say("system", "A")], lines: ["user: A"], changed: [0] },
  "prompts alone": {
    items: [say("system", "A"), say("developer", ["B"]), say("system", "C")],
    lines: ["system: A", "system: B", "user: C"],
    changed: [2],
  },
  "prompts, then the user": {
    items: [say("system", "A"), say("developer", ["B"]), say("user", "u")],
    lines: ["system: A", "system: B", "user: u"],
    changed: [],
  },
  "prompts amid": {
    items: [say("system", "A"), say("user", "u"), say("system", ["B"]), say("developer", "C"), say("user", "v")],
    lines: ["system: A", "user: u", "user: B", "user: C", "user: v"],
    changed: [2, 3],
  },
  "prompts at the end": {
    items: [say("user", "u"), say("system", "A"), say("system", "B")],
    lines: ["user: u", "user: A", "user: B"],
    changed: [1, 2],
  },
};

describe.each(Object.entries(formats))("%s", (name, format) => {
  const joins = name === "chat" || name === "responses";

  describe.each(Object.entries(doors))("from %s", (doorName, door) => {
    // A format with a field for the first prompt would otherwise send no message, which providers answer with 400.
    const possible = Object.entries(scenes).filter(([, { items }]) => items.length > 1 || !fieldDoors.has(doorName));

    test.each(possible)("sends %s in a form accepted by other servers", (_scene, { items, lines, changed }) => {
      const prompts = lines.filter((line) => line.startsWith("system")).length;
      expect(send(format, door(items), server)).toEqual({
        lines,
        changed,
        joined: joins ? Array.from({ length: Math.max(0, prompts - 1) }, (_each, index) => index + 1) : [],
      });
    });

    if (joins) {
      test.each(possible)("sends %s unchanged to the vendor", (_scene, { items }) => {
        const lines = items.flatMap(({ role, content }) => linesOf(role, String(content)));
        expect(send(format, door(items), vendor)).toEqual({ lines, changed: [], joined: [] });
      });
    }
  });
});
