/** Streams an output item as blocks. Text that the provider sent only in the complete item is written at its end. */
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import { append } from "@sluice/proto/lib/text/append.js";
import type { BlockWriter } from "./block-writer.ts";
import { partText, partsOf, thinkingJson, toBlocks, toCitation, toToolUseStart } from "./blocks.ts";
import { thoughtSeparator, toThinkingBlock } from "./thinking.ts";

export type TextKind = "textDelta" | "refusalDelta" | "reasoningDelta" | "summaryDelta";

export interface StreamedItem {
  text(kind: TextKind, part: number, delta: string): void;
  arguments(delta: string): void;
  annotation(annotation: unknown): void;
  /** Ends the item. @param item the complete item */
  end(item: JsonObject): void;
}

/** Begins an item. @param item the item at its beginning */
export function streamItem(item: JsonObject, writer: BlockWriter): StreamedItem {
  switch (item["type"]) {
    case "message":
      return new OpenMessage(writer);
    case "reasoning":
      return new OpenThought(writer);
    case "function_call":
      return new OpenCall(item, writer);
    default:
      return new WholeItem(writer);
  }
}

/** An item whose blocks are written completely, at its end. */
class WholeItem implements StreamedItem {
  protected readonly writer: BlockWriter;

  constructor(writer: BlockWriter) {
    this.writer = writer;
  }

  text(_kind: TextKind, _part: number, _delta: string): void {}
  arguments(_delta: string): void {}
  annotation(_annotation: unknown): void {}

  end(item: JsonObject): void {
    for (const block of toBlocks(item)) this.writer.whole(block);
  }
}

const textStart = '{"type":"text","text":""}';

class OpenMessage extends WholeItem {
  /** Number of the part written to the open block. */
  #part: number | undefined;
  /** Streamed text by part. */
  readonly #texts: string[] = [];
  /** Whether the open block has a citation: further text then needs another block. */
  #cited = false;

  override text(_kind: TextKind, part: number, delta: string): void {
    if (delta === "") return;
    if (this.#part !== part || this.#cited) {
      this.#close();
      this.writer.start(textStart);
      this.#part = part;
    }
    this.#texts[part] = (this.#texts[part] ?? "") + delta;
    this.writer.delta("text", delta);
  }

  override annotation(annotation: unknown): void {
    if (this.#part === undefined) return;
    const citation = toCitation(annotation, "");
    if (!citation) return;
    this.#cited = true;
    this.writer.citation(citation.json);
  }

  override end(item: JsonObject): void {
    if (this.#texts.length === 0) return super.end(item);
    for (const [index, part] of partsOf(item).entries()) {
      const whole = partText(part);
      const written = this.#texts[index] ?? "";
      if (whole.length > written.length && whole.startsWith(written)) {
        this.text("textDelta", index, whole.slice(written.length));
      }
    }
    this.#close();
  }

  #close(): void {
    if (this.#part === undefined) return;
    this.writer.stop();
    this.#part = undefined;
    this.#cited = false;
  }
}

const thinkingStart = '{"type":"thinking","thinking":"","signature":""}';

class OpenThought extends WholeItem {
  #written = "";
  #place = "";

  override text(kind: TextKind, part: number, delta: string): void {
    if (delta === "") return;
    const place = `${kind} ${part}`;
    if (this.#place === "") this.writer.start(thinkingStart);
    const text = this.#place === "" || this.#place === place ? delta : thoughtSeparator + delta;
    this.#place = place;
    this.#written = append(this.#written, text);
    this.writer.delta("thinking", text);
  }

  override end(item: JsonObject): void {
    const block = toThinkingBlock(item);
    if (this.#place === "") {
      if (block?.type === "thinking") this.#hidden(block.thinking, block.signature);
      else if (block) this.writer.whole({ json: thinkingJson(block) });
      return;
    }
    if (block?.type === "thinking") {
      const { thinking, signature } = block;
      if (thinking.startsWith(this.#written)) this.writer.delta("thinking", thinking.slice(this.#written.length));
      this.writer.delta("signature", signature);
    }
    this.writer.stop();
  }

  #hidden(thinking: string, signature: string): void {
    this.writer.start(thinkingStart);
    this.writer.delta("thinking", thinking);
    this.writer.delta("signature", signature);
    this.writer.stop();
  }
}

class OpenCall extends WholeItem {
  #written = "";

  constructor(item: JsonObject, writer: BlockWriter) {
    super(writer);
    writer.start(`${toToolUseStart(item).slice(0, -1)},"input":{}}`);
  }

  override arguments(delta: string): void {
    this.#written = append(this.#written, delta);
    this.writer.delta("partial_json", delta);
  }

  override end({ arguments: whole }: JsonObject): void {
    if (typeof whole === "string" && whole.startsWith(this.#written)) {
      this.writer.delta("partial_json", whole.slice(this.#written.length));
    }
    this.writer.stop();
  }
}
