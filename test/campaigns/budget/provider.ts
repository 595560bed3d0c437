/** A provider of chat completions with its own journal: it counts everything that it has read and written, in its own way, to the last token. */
import { once } from "node:events";
import { type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { Random } from "../../support/random.ts";
import { chatChunk, sse } from "../../support/providers/upstream.ts";

/** Prices of every model in USD per million tokens. */
export const prices = { prompt: 10, completion: 40 };

/** Context window of every model in tokens. */
export const windowTokens = 32_000;

/** Behaviour of a model, selected by the end of its slug. */
export interface ModelBehaviour {
  /** Tokens per byte of text; 1 is the maximum of any tokenizer. */
  readonly density: number;
  /** Factor on all counts. Above 1, the provider counts more than any rule explains. */
  readonly factor: number;
  /** Whether the provider sends token counts at the end of an answer. */
  readonly reports: boolean;
}

export const modelBehaviours: Readonly<Record<string, ModelBehaviour>> = {
  plain: { density: 0.25, factor: 1, reports: true },
  dense: { density: 1, factor: 1, reports: true },
  silent: { density: 0.3, factor: 1, reports: false },
  greedy: { density: 1, factor: 3, reports: true },
};

/** A call, as the provider would put it on its invoice. */
export interface JournalEntry {
  readonly request: string;
  readonly manner: string;
  /** Requested maximum of output tokens; undefined if the request has none. */
  readonly limit: number | undefined;
  input: number;
  output: number;
}

export const costOf = ({ input, output }: Pick<JournalEntry, "input" | "output">): number =>
  (input * prices.prompt + output * prices.completion) / 1e6;

interface Body {
  readonly model: string;
  readonly stream?: boolean;
  readonly max_tokens?: number;
  readonly messages: readonly { readonly content: string | readonly Part[] }[];
}

interface Part {
  readonly type: string;
  readonly text?: string;
  readonly image_url?: { readonly url: string };
  readonly input_audio?: { readonly data: string };
  readonly file?: { readonly file_data: string };
}

export interface JournalProvider {
  readonly url: string;
  readonly journal: readonly JournalEntry[];
  stop(): Promise<void>;
}

export async function startJournalProvider(seed: number): Promise<JournalProvider> {
  const journal: JournalEntry[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = JSON.parse(Buffer.concat(chunks).toString()) as Body;
      const entry = entryOf(body);
      journal.push(entry);
      void answer(body, entry, response, new Random(seed, journal.length)).catch(() => response.destroy());
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    journal,
    stop: async () => {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function entryOf(body: Body): JournalEntry {
  const name = body.model.split("/").at(-1) as string;
  const { density, factor } = modelBehaviours[name] as ModelBehaviour;
  const parts = body.messages.flatMap(({ content }) =>
    typeof content === "string" ? [{ type: "text", text: content }] : content,
  );
  const tokens = parts.reduce((sum, part) => sum + tokensOf(part, density), 4);
  const [request = ""] = /request-\d+/.exec(parts.map(({ text }) => text ?? "").join(" ")) ?? [];
  return { request, manner: name, limit: body.max_tokens, input: Math.ceil(tokens * factor), output: 0 };
}

/** Tokens of a part: 170 for each 512-pixel tile of an image, 32 for each second of sound at 16 kHz, and the whole window for a document. */
function tokensOf(part: Part, density: number): number {
  if (part.text !== undefined) return Buffer.byteLength(part.text) * density;
  if (part.image_url) {
    const head = Buffer.from(part.image_url.url.split(",")[1] ?? "", "base64");
    const tiles = Math.ceil(head.readUInt32BE(16) / 512) * Math.ceil(head.readUInt32BE(20) / 512);
    return 85 + 170 * tiles;
  }
  if (part.input_audio) return (Buffer.byteLength(part.input_audio.data, "base64") / 32_000) * 32;
  const [head = "", data = ""] = (part.file?.file_data ?? "").split(",");
  return head.includes("text/") ? Buffer.byteLength(data, "base64") * density : windowTokens * 0.9;
}

const tokensPerChunk = 32;

/** Output tokens of an answer. Answers are usually short; one in eight has the maximum length, and so has each without a maximum in the request. */
const lengthOf = (limit: number | undefined, random: Random): number =>
  Math.min(limit ?? 20_000, limit === undefined || random.chance(1 / 8) ? 20_000 : 1 + random.below(400));

async function answer(body: Body, entry: JournalEntry, response: ServerResponse, random: Random): Promise<void> {
  const { factor, reports, density } = modelBehaviours[entry.manner] as ModelBehaviour;
  const length = lengthOf(entry.limit, random);
  const word = density === 1 ? "a " : "word ";
  const usage = () => (reports ? { usage: { prompt_tokens: entry.input, completion_tokens: entry.output } } : {});
  if (body.stream !== true) {
    await wait(random.below(20));
    if (response.destroyed) return;
    entry.output = length * factor;
    const choices = [{ index: 0, message: { role: "assistant", content: word.repeat(length) }, finish_reason: "stop" }];
    response.writeHead(200, { "content-type": "application/json" });
    return void response.end(JSON.stringify({ id: "c", object: "chat.completion", choices, ...usage() }));
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (let written = 0; written < length && !response.destroyed; ) {
    const tokens = Math.min(tokensPerChunk, length - written);
    written += tokens;
    entry.output += tokens * factor;
    response.write(sse(chatChunk({ content: word.repeat(tokens) })));
    await wait(random.below(4));
  }
  response.end(sse(chatChunk({}, "stop"), { choices: [], ...usage() }, "[DONE]"));
}
