/** An installation for tests of clients: a built-in model, and a scripted provider of chat completions. */
import { afterAll, beforeAll } from "@jest/globals";
import { type Installation, startInstallation } from "../installation.ts";
import { type Upstream, chatAnswer, chatChunk, chatStream, startUpstream } from "../providers/upstream.ts";

export const pixelUrl =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

export class ClientStage {
  #installation: Installation | undefined = undefined;
  #upstream: Upstream | undefined = undefined;

  get installation(): Installation {
    return this.#installation as Installation;
  }

  get upstream(): Upstream {
    return this.#upstream as Upstream;
  }

  async start(): Promise<void> {
    this.#upstream = await startUpstream();
    this.#installation = await startInstallation({
      config: `
providers:
  - {id: echo, dialect: echo}
  - {id: far, dialect: chat, base_url: "${this.#upstream.url}/v1"}
models:
  - {id: sluice/echo, endpoints: [{provider: echo}]}
  - {id: far/model, input_modalities: [text, image], endpoints: [{provider: far}]}
  - {id: far/embed, context_length: 8192, output_modalities: [embeddings], endpoints: [{provider: far}]}
`,
    });
  }

  async stop(): Promise<void> {
    await this.#installation?.stop();
    await this.#upstream?.stop();
  }

  /** Makes the provider send one word and then nothing. @returns a promise that resolves when the gateway disconnects */
  hang(): Promise<unknown> {
    this.upstream.script([{ chunks: [{ sse: [chatChunk({ role: "assistant", content: "One" })] }], hang: true }]);
    return this.upstream.nextClose();
  }

  answer(text: string, streamed = false): void {
    this.upstream.script([streamed ? chatStream(text) : chatAnswer({ role: "assistant", content: text })]);
  }

  /** Makes the provider answer 429 once, and then this text. */
  beBusyOnce(text: string): void {
    const busy = { status: 429, headers: { "retry-after": "1" } };
    this.upstream.script([busy, chatAnswer({ role: "assistant", content: text })]);
  }

  /** The picture in the last message that the provider received. */
  picture(): string | undefined {
    const { messages } = (this.upstream.requests.at(-1)?.json ?? {}) as { messages: { content: unknown }[] };
    const parts = messages.at(-1)?.content as { image_url?: { url: string } }[];
    return parts.find(({ image_url: image }) => image)?.image_url?.url;
  }

  /** @param count number of texts */
  embed(count: number): number[][] {
    const vectors = Array.from({ length: count }, (_, index) => [0.5 + index, 1]);
    const data = vectors.map((embedding, index) => ({ object: "embedding", index, embedding }));
    this.upstream.script([
      { chunks: [{ json: { object: "list", data, usage: { prompt_tokens: 4, total_tokens: 4 } } }] },
    ]);
    return vectors;
  }
}

/** A stage for the tests of one file. */
export function clientStage(): ClientStage {
  const stage = new ClientStage();
  beforeAll(() => stage.start());
  afterAll(() => stage.stop());
  return stage;
}
