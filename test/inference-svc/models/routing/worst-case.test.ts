/** The maximum number of tokens of an input, by the headers of pictures and sounds, and by the bytes of all other parts. */
import { expect, test } from "@jest/globals";
import { maxImageTokens, readPixels } from "@sluice/inference-svc/models/estimate/images.js";
import { maxSoundTokens, readSoundLength } from "@sluice/inference-svc/models/estimate/sounds.js";
import { boundInput } from "@sluice/inference-svc/models/estimate/worst-case.js";
import { testRequest, functionTool } from "../../asking.js";

const bytes = (hex: string): string => Buffer.from(hex.replaceAll(" ", ""), "hex").toString("base64");

test.each([
  ["PNG", "89504e470d0a1a0a 0000000d 49484452 00000140 000000f0 0802000000"],
  ["GIF", "474946383961 4001 f000 f70000"],
  ["JPEG behind a profile", "ffd8 ffe0 0010 4a46494600010100000100010000 ffe2 0004 0000 ffc2 0011 08 00f0 0140 03"],
  ["WebP, lossy", "52494646 00000000 57454250 56503820 00000000 000000 9d012a 4001 f000"],
  ["WebP, lossless", "52494646 00000000 57454250 5650384c 00000000 2f 3fc13b00 0000000000"],
  ["WebP, extended", "52494646 00000000 57454250 56503858 0a000000 00000000 3f0100 ef0000"],
])("for the worst case, a %s of 320 by 240 pixels has its size read from its header", (_, hex) => {
  expect(readPixels(bytes(hex))).toEqual({ width: 320, height: 240 });
});

test.each(["", "89504e47", "ffd8ffe0", "ffd8 ffe0 0000 0000 0000 0000", "52494646", "424d"])(
  "for the worst case, image bytes without a whole header have no size: %s",
  (hex) => {
    expect(readPixels(bytes(hex))).toBeUndefined();
  },
);

test("the worst case of an image is the highest published rule, at the largest size vendors scale to", () => {
  const square = { width: 1_024, height: 1_024 };
  // Tokens of the image: 765 in tiles, 1,398 by area, 2,520 in patches at the largest factor.
  for (const model of ["openai/gpt-4.1-nano", "anthropic/claude", "google/gemini", "local/model"])
    expect(maxImageTokens(square, model)).toBeGreaterThanOrEqual(2_520);
  expect(maxImageTokens({ width: 1, height: 1 }, "google/gemini")).toBeGreaterThanOrEqual(1_120);
  expect(maxImageTokens(square, "openai/gpt-4o-mini")).toBeGreaterThanOrEqual(2_833 + 4 * 5_667);
  expect(maxImageTokens({ width: 50_000, height: 50_000 }, "openai/gpt-5")).toBe(
    maxImageTokens(undefined, "openai/gpt-5"),
  );
  expect(maxImageTokens(undefined, "local/model")).toBeUndefined();
});

test("the worst case of audio is by its length, or the context window for an unknown length", () => {
  const head = Buffer.alloc(44);
  head.write("RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0\x02\0", "latin1");
  head.writeUInt32LE(16_000, 24);
  head.writeUInt16LE(16, 34);
  const minute = Buffer.concat([head, Buffer.alloc(60 * 64_000)]).toString("base64");
  const tokens = maxSoundTokens(readSoundLength(minute, "wav")) as number;
  // Gemini counts 32 tokens a second.
  expect(tokens).toBeGreaterThanOrEqual(60 * 32);
  expect(tokens).toBeLessThan(2 * 60 * 32);
  const mp3 = Buffer.concat([Buffer.from("ID3"), Buffer.alloc(60_000)]).toString("base64");
  // The audio lasts a minute at the lowest bit rate.
  expect(maxSoundTokens(readSoundLength(mp3, "mp3"))).toBeGreaterThanOrEqual(60 * 32);
  // The container holds compressed samples, or no audio at all.
  head.writeUInt16LE(85, 20);
  for (const data of [head.toString("base64"), "", bytes("00ff")]) expect(readSoundLength(data, "wav")).toBeUndefined();
});

const reader = { model: "local/model", contextLength: 8_000 };
const tokensOf = (content: unknown, more: object = {}): number =>
  boundInput(testRequest({ input: [{ type: "message", role: "user", content }], ...more }), reader).inputTokens;

test("the worst case counts every byte readable as text, in any place", () => {
  const text = "é".repeat(500);
  expect(tokensOf(text)).toBeGreaterThanOrEqual(1_000);
  const places: readonly object[] = [
    { instructions: text },
    { tools: [functionTool({ description: text })] },
    { textFormat: { type: "json_schema", name: "x", schemaJson: JSON.stringify({ title: text }) } },
    { input: [{ type: "function_call_output", call_id: "c", output: JSON.stringify({ a: text }) }] },
    { input: [{ type: "function_call", call_id: "c", name: "f", arguments: `{"${text}":1}` }] },
    { input: [{ type: "message", role: "user", content: [{ type: "odd", [text]: 1 }] }] },
    { input: [{ type: "message", role: "user", content: [{ type: "odd", numbers: Array(500).fill(12) }] }] },
  ];
  for (const place of places) expect(boundInput(testRequest(place), reader).inputTokens).toBeGreaterThanOrEqual(1_000);
});

test("the worst case of ordinary text above the context window is the window, or a higher estimate", () => {
  expect(tokensOf("a".repeat(12_000))).toBe(8_000);
  expect(tokensOf("a".repeat(80_000))).toBeGreaterThanOrEqual(40_000);
});

test("the worst case of a video, a file by address, or a search by the provider is the context window", () => {
  for (const part of [
    { type: "input_video", video_url: "https://example.com/a.mp4" },
    { type: "input_file", file_id: "file-1" },
    { type: "input_image", image_url: "https://example.com/a.png" },
    { type: "input_image", image_url: `data:image/png;base64,${bytes("00")}` },
  ])
    expect(tokensOf([part])).toBeGreaterThanOrEqual(8_000);
  const search = { type: "hosted" as const, kind: "web_search", spelling: "web_search", json: '{"type":"web_search"}' };
  expect(tokensOf("Hi", { tools: [search] })).toBeGreaterThanOrEqual(8_000);
});

test("the worst case counts an image of an answer as an image, and sealed reasoning by its size", () => {
  const picture = { type: "image_generation_call", id: "ig_1", status: "completed", result: "A".repeat(1_000_000) };
  const known = { model: "openai/gpt-5", contextLength: 400_000 };
  expect(boundInput(testRequest({ input: [picture] }), known).inputTokens).toBeLessThan(30_000);
  const thought = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "A".repeat(4_000) };
  expect(boundInput(testRequest({ input: [thought] }), known).inputTokens).toBeGreaterThanOrEqual(1_000);
});
