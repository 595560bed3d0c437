/** Clients name the type of an image by a guess; vendors compare it with the bytes, and refuse types that they do not know. */
import { expect, test } from "@jest/globals";
import { responses } from "@sluice/inference-svc/models/upstream/responses/dialect.js";
import { testRequest } from "../../asking.js";
import { otherChat, refuseChatRequest, vendorChat } from "../dialects/chat-translation.js";
import { refuseConverseRequest, translateToConverse } from "../dialects/converse-translation.js";
import { refuseGeminiRequest, translateToGemini } from "../dialects/gemini-translation.js";
import { messagesTarget, refuseMessagesRequest, translateToMessages } from "../dialects/messages-translation.js";

const beginningOf = (...bytes: (number | string)[]): string =>
  Buffer.concat(bytes.map((each) => (typeof each === "string" ? Buffer.from(each) : Buffer.from([each])))).toString(
    "base64",
  );
const size = "\0\0\0\0";
const images: Readonly<Record<string, string>> = {
  "image/png": beginningOf(0x89, "PNG\r\n", 0x1a, "\n", size),
  "image/jpeg": beginningOf(0xff, 0xd8, 0xff, 0xe0, size),
  "image/gif": beginningOf("GIF89a", size),
  "image/webp": beginningOf("RIFF", size, "WEBPVP8 "),
};
const sound = beginningOf("RIFF", size, "WAVEfmt ");

const inputOf = (type: string, base64: string) => [
  { type: "message", role: "user", content: [{ type: "input_image", image_url: `data:${type};base64,${base64}` }] },
];

/** The media types that Anthropic, Google and Bedrock get. */
function sentTypes(type: string, base64: string): readonly unknown[] {
  const input = inputOf(type, base64);
  const bodies = [translateToMessages, translateToGemini, translateToConverse].map((send) =>
    JSON.stringify(send({ input }).body),
  );
  return bodies.map((body, index) => {
    const [, found = ""] = /"(?:media_type|mimeType|format)":"([^"]+)"/.exec(body) ?? [];
    return index === 2 ? `image/${found}` : found;
  });
}

const { "image/gif": gif = "", ...taken } = images;

test.each(Object.entries(taken))(
  "an image of type %s is sent with this type, whatever the client calls it",
  (type, base64) => {
    for (const called of [...Object.keys(images), "image/jpg", "image/bmp"]) {
      expect(sentTypes(called, base64)).toEqual([type, type, type]);
      const note = ["input.0.content.0.image_url", `repaired: sent as ${type}, the type of its bytes`];
      for (const send of [translateToMessages, translateToGemini, translateToConverse])
        expect(send({ input: inputOf(called, base64) }).losses).toEqual(called === type ? [] : [note]);
    }
  },
);

test("an image of unknown bytes is sent with the client's type, with jpg as jpeg", () => {
  expect(sentTypes("image/webp", sound)).toEqual(["image/webp", "image/webp", "image/webp"]);
  expect(sentTypes("image/jpg", "AAAA")).toEqual(["image/jpeg", "image/jpeg", "image/jpeg"]);
});

const refusals: Readonly<Record<string, (input: ReturnType<typeof inputOf>) => unknown>> = {
  OpenAI: (input) => refuseChatRequest({ input }, vendorChat),
  "OpenAI, responses": (input) => responses.refusal(testRequest({ input }), vendorChat),
  Anthropic: (input) => refuseMessagesRequest({ input }, { ...messagesTarget, original: true }),
  Google: (input) => refuseGeminiRequest({ input }),
  Bedrock: (input) => refuseConverseRequest({ input }),
};
const others: readonly (readonly [type: string, base64: string, takenBy: readonly string[]])[] = [
  ["gif", gif, ["OpenAI", "OpenAI, responses", "Anthropic", "Bedrock"]],
  ["heic", beginningOf(0, 0, 0, 0x18, "ftypheic", size), ["Google"]],
  ["heif", beginningOf(0, 0, 0, 0x18, "ftypmif1", size), ["Google"]],
  ["avif", beginningOf(0, 0, 0, 0x1c, "ftypavif", size), []],
  ["tiff", beginningOf("II*", 0, 8, size), []],
  ["tiff", beginningOf("MM", 0, "*", size), []],
  ["bmp", beginningOf("BM", 0x46, 0, 0, 0, size), []],
  ["svg+xml", beginningOf("<svg xmlns='http://www.w3.org/2000/svg'/>"), []],
];

test.each(others)(
  "an image of type %s goes to the vendors that take it, and is refused by name elsewhere",
  (type, base64, takenBy) => {
    for (const [vendor, refuse] of Object.entries(refusals)) {
      const refusal = { path: "input.0.content.0", message: `no provider of this model takes images of type ${type}` };
      const expected = takenBy.includes(vendor) ? undefined : refusal;
      for (const called of [`image/${type}`, "image/png"])
        expect([vendor, refuse(inputOf(called, base64))]).toEqual([vendor, expected]);
    }
  },
);

test("servers of unknown vendors get every image", () => {
  const input = inputOf("image/bmp", "AAAA");
  expect(refuseChatRequest({ input }, otherChat)).toBeUndefined();
  expect(refuseMessagesRequest({ input }, messagesTarget)).toBeUndefined();
});
