/** Writes the events of a message's blocks, which follow one another and are numbered from 0. */
import { toJsonString } from "../../edge/turns/json.ts";
import { type BlockJson, startedBlock } from "./block-json.ts";

type DeltaField = "text" | "thinking" | "signature" | "partial_json";

const deltaTypes: Readonly<Record<DeltaField, string>> = {
  text: "text_delta",
  thinking: "thinking_delta",
  signature: "signature_delta",
  partial_json: "input_json_delta",
};

export class BlockWriter {
  #text = "";
  /** Number of the open block, or of the next one. */
  #block = 0;

  event(name: string, json: string): void {
    this.#text += `event: ${name}\ndata: ${json}\n\n`;
  }

  start(blockJson: string): void {
    this.event(
      "content_block_start",
      `{"type":"content_block_start","index":${this.#block},"content_block":${blockJson}}`,
    );
  }

  delta(field: DeltaField, text: string): void {
    if (text !== "") this.#delta(`"type":"${deltaTypes[field]}","${field}":${toJsonString(text)}`);
  }

  citation(json: string): void {
    this.#delta(`"type":"citations_delta","citation":${json}`);
  }

  #delta(members: string): void {
    this.#text += `event: content_block_delta\ndata: {"type":"content_block_delta","index":${this.#block},"delta":{${members}}}\n\n`;
  }

  stop(): void {
    this.event("content_block_stop", `{"type":"content_block_stop","index":${this.#block++}}`);
  }

  /** Writes a complete block. */
  whole(block: BlockJson): void {
    this.start(startedBlock(block));
    if (block.inputJson !== undefined) this.delta("partial_json", block.inputJson);
    this.stop();
  }

  /** Returns the events since the last call. */
  take(): string {
    const text = this.#text;
    this.#text = "";
    return text;
  }
}
