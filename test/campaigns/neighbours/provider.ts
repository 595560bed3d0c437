/** A provider in a process of its own. The model `fast` writes without end as fast as it is read; any other model answers with one word. */
import { type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { chatChunk, sse } from "../../support/providers/upstream.ts";

const block = sse(chatChunk({ content: "word " })).repeat(200);
const word = sse(
  chatChunk({ content: "word" }),
  chatChunk({}, "stop"),
  { choices: [], usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } },
  "[DONE]",
);

function flood(response: ServerResponse): void {
  while (!response.destroyed && response.write(block));
}

const server = createServer((request, response) => {
  void text(request).then((body) => {
    const { model } = JSON.parse(body) as { readonly model: string };
    response.writeHead(200, { "content-type": "text/event-stream" });
    if (model !== "fast") return void response.end(word);
    response.on("drain", () => flood(response));
    flood(response);
  });
});
server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
process.on("disconnect", () => process.exit());
