/** Clients name the type of an image by a guess; vendors compare it with the bytes. */
import { expect, test } from "@jest/globals";
import { translateToConverse } from "../dialects/converse-translation.js";
import { translateToGemini } from "../dialects/gemini-translation.js";
import { translateToMessages } from "../dialects/messages-translation.js";

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

/** The media types that Anthropic, Google and Bedrock get. */
function sentTypes(type: string, base64: string): readonly unknown[] {
  const input = [
    { type: "message", role: "user", content: [{ type: "input_image", image_url: `data:${type};base64,${base64}` }] },
  ];
  const bodies = [translateToMessages, translateToGemini, translateToConverse].map((send) =>
    JSON.stringify(send({ input }).body),
  );
  return bodies.map((body, index) => {
    const [, found = ""] = /"(?:media_type|mimeType|format)":"([^"]+)"/.exec(body) ?? [];
    return index === 2 ? `image/${found}` : found;
  });
}

test.each(Object.entries(images))(
  "an image of type %s is sent with this type, whatever the client calls it",
  (type, base64) => {
    for (const called of [...Object.keys(images), "image/jpg", "image/bmp"])
      expect(sentTypes(called, base64)).toEqual([type, type, type]);
  },
);

test("an image of unknown bytes is sent with the client's type, with jpg as jpeg", () => {
  expect(sentTypes("image/webp", sound)).toEqual(["image/webp", "image/webp", "image/webp"]);
  expect(sentTypes("image/jpg", "AAAA")).toEqual(["image/jpeg", "image/jpeg", "image/jpeg"]);
});
