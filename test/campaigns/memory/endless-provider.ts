/**
 * Role: a provider whose answers are too long to be of use. The name of the model chooses the kind: 62 MB, and then silence. The model `honest`
 * answers with a text of 8 MB in one piece.
 */
import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { brotliCompressSync, constants, deflateSync, gzipSync } from "node:zlib";
import { chatChunk, sse } from "../../support/providers/upstream.ts";

const megabyte = 1_000_000;
const megabytes = 62;
const letters = "a".repeat(megabyte);

const beginning = '{"a":"';
const empties = (count: number) => `[${"[],".repeat(count)}[]]`;
/** JSON with nearly as many values as a text may have. */
const allowed = empties(880_000);
/** Answers with many values that end, by the name of the model. */
const ending: Readonly<Record<string, () => string>> = {
  values: () => `{"a":${empties((8 * megabyte) / 3)}}`,
  allowed: () => `{"a":${allowed}}`,
  "allowed-item": () =>
    `{"object":"response","status":"completed","output":[{"type":"web_search_call","id":"ws_1","status":"completed","found":${allowed}}]}`,
  "allowed-event": () => sse(chatChunk({ role: "assistant", content: "" })) + `data: {"a":${allowed}}\n\n`.repeat(3),
};
const vectors = `{"data":[{"index":0,"embedding":[`;
const tokens = "0.12345678,".repeat(megabyte / 11);

const packed = (pack: (bytes: Buffer) => Buffer) => {
  let bytes: Buffer | undefined;
  return () => (bytes ??= pack(Buffer.from(beginning + letters.repeat(megabytes))));
};
const codings: Readonly<Record<string, () => Buffer>> = {
  gzip: packed(gzipSync),
  deflate: packed(deflateSync),
  br: packed((bytes) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })),
};

const call = (fields: object) => chatChunk({ tool_calls: [{ index: 0, ...fields }] });

/** Answers as event streams, by the name of the model: the first chunk, and the chunk that is repeated 62 times. */
const streams: Readonly<Record<string, readonly [first: string, each: string]>> = {
  arguments: [
    sse(call({ id: "call_1", type: "function", function: { name: "f", arguments: '{"a":"' } })),
    sse(call({ function: { arguments: letters } })),
  ],
  text: [sse(chatChunk({ role: "assistant", content: "" })), sse(chatChunk({ content: letters }))],
  thoughts: ["", sse(chatChunk({ reasoning_details: [{ type: "reasoning.encrypted", data: letters }] }))],
  native: [
    sse({ type: "response.output_item.added", output_index: 0, item: { type: "web_search_call", id: "ws_1" } }),
    sse({ type: "response.web_search_call.found", output_index: 0, item_id: "ws_1", text: letters }),
  ],
  early: ["", sse({ type: "response.web_search_call.found", output_index: 7, item_id: "ws_9", text: letters })],
  line: ["data: ", letters],
  lines: ["", "data: a\n".repeat(megabyte / 8)],
};

const honest = () =>
  JSON.stringify({
    object: "chat.completion",
    choices: [{ index: 0, message: { role: "assistant", content: letters.repeat(8) }, finish_reason: "stop" }],
    usage: { prompt_tokens: 1, completion_tokens: 3, total_tokens: 4 },
  });

async function write(response: ServerResponse, bytes: string): Promise<void> {
  if (response.destroyed || response.write(bytes)) return;
  await new Promise<void>((resolve) => {
    const go = () => {
      response.off("drain", go).off("close", go);
      resolve();
    };
    response.on("drain", go).on("close", go);
  });
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { model } = JSON.parse(await text(request)) as { readonly model: string };
  if (model === "honest") return void response.setHeader("content-type", "application/json").end(honest());
  const stream = streams[model];
  const coding = codings[model];
  const isStream = stream !== undefined || model === "allowed-event";
  response.setHeader("content-type", isStream ? "text/event-stream" : "application/json");
  if (coding) return void response.setHeader("content-encoding", model).write(coding());
  const whole = ending[model];
  if (whole) return void response.end(whole());
  const [first, each] = stream ?? (model === "vectors" ? [vectors, tokens] : [beginning, letters]);
  await write(response, first);
  for (let count = 0; count < megabytes && !response.destroyed; count++) await write(response, each);
}

const server = createServer((request, response) => {
  answer(request, response).catch(() => response.destroy());
});
server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
process.on("disconnect", () => process.exit());
