/** One output item while it streams: its parts open, grow and close, and what was delivered is kept for the case of a failure. */
import type { Annotation, TextDelta } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";

/** Writes one event: its type, and the payload members without braces. */
export type Emit = (type: string, payload: string) => void;

type PartKind = "output_text" | "refusal" | "reasoning_text" | "summary_text";

interface Part {
  readonly kind: PartKind;
  readonly index: number;
  text: string;
  readonly annotations: unknown[];
  readonly logprobs: unknown[];
}

interface ItemJson {
  readonly type: string;
  readonly id: string;
  readonly name?: string;
  readonly arguments?: string;
  readonly content?: readonly { readonly type: string; readonly text?: string; readonly refusal?: string }[];
  readonly summary?: readonly { readonly type: string; readonly text?: string }[];
}

export class OpenItem {
  readonly #index: number;
  readonly #startJson: string;
  readonly #item: ItemJson;
  readonly #emit: Emit;
  /** `"item_id":...,"output_index":...`, the beginning of most payloads. */
  readonly #address: string;
  readonly #parts: Part[] = [];
  #open: Part | undefined;
  #arguments = "";

  constructor(index: number, itemJson: Uint8Array, emit: Emit) {
    this.#index = index;
    this.#startJson = Buffer.from(itemJson).toString();
    this.#item = JSON.parse(this.#startJson) as ItemJson;
    this.#emit = emit;
    this.#address = `"item_id":${JSON.stringify(this.#item.id)},"output_index":${index}`;
  }

  get address(): string {
    return this.#address;
  }

  added(): void {
    this.#emit("response.output_item.added", `"output_index":${this.#index},"item":${this.#startJson}`);
  }

  /** A delta of an output_text part. */
  text({ part: index, delta, logprobsJson }: TextDelta): void {
    const part = this.#part("output_text", index);
    part.text += delta;
    const logprobs = logprobsJson.length > 0 ? Buffer.from(logprobsJson).toString() : "[]";
    if (logprobsJson.length > 0) part.logprobs.push(...(JSON.parse(logprobs) as unknown[]));
    this.#emit(
      "response.output_text.delta",
      `${this.#address},"content_index":${index},"delta":${JSON.stringify(delta)},"logprobs":${logprobs}`,
    );
  }

  /** A delta of any other kind of part. */
  delta(kind: Exclude<PartKind, "output_text">, index: number, delta: string): void {
    this.#part(kind, index).text += delta;
    this.#emit(`response.${eventStem[kind]}.delta`, `${this.#position(kind, index)},"delta":${JSON.stringify(delta)}`);
  }

  arguments(delta: string): void {
    this.#arguments += delta;
    this.#emit("response.function_call_arguments.delta", `${this.#address},"delta":${JSON.stringify(delta)}`);
  }

  annotation({ part: index, annotationJson }: Annotation): void {
    const json = Buffer.from(annotationJson).toString();
    const part = this.#part("output_text", index);
    const position = part.annotations.push(JSON.parse(json)) - 1;
    this.#emit(
      "response.output_text.annotation.added",
      `${this.#address},"content_index":${index},"annotation_index":${position},"annotation":${json}`,
    );
  }

  /** The item is whole: whatever of it has not been shown yet is shown now. */
  done(itemJson: Uint8Array): void {
    const json = Buffer.from(itemJson).toString();
    const item = JSON.parse(json) as ItemJson;
    for (const [index, part] of (item.summary ?? []).entries()) this.#complete("summary_text", index, part.text ?? "");
    for (const [index, part] of (item.content ?? []).entries()) {
      this.#complete(part.type as PartKind, index, part.refusal ?? part.text ?? "");
    }
    this.#close();
    if (item.type === "function_call") this.#completeArguments(item);
    this.#emit("response.output_item.done", `"output_index":${this.#index},"item":${json}`);
  }

  /** What was delivered of an item that will never be whole. */
  partialJson(): string {
    const parts = (kinds: readonly PartKind[]) =>
      this.#parts.filter((part) => kinds.includes(part.kind)).map((part) => partValue(part));
    const { type } = this.#item;
    return JSON.stringify({
      ...this.#item,
      status: "incomplete",
      ...(type === "reasoning" && { summary: parts(["summary_text"]) }),
      ...((type === "message" || type === "reasoning") && {
        content: parts(["output_text", "refusal", "reasoning_text"]),
      }),
      ...(type === "function_call" && { arguments: this.#arguments }),
    });
  }

  #completeArguments(item: ItemJson): void {
    const whole = item.arguments ?? "";
    if (whole.length > this.#arguments.length && whole.startsWith(this.#arguments)) {
      this.arguments(whole.slice(this.#arguments.length));
    }
    const name = JSON.stringify(item.name ?? "");
    this.#emit(
      "response.function_call_arguments.done",
      `${this.#address},"name":${name},"arguments":${JSON.stringify(whole)}`,
    );
  }

  #complete(kind: PartKind, index: number, whole: string): void {
    const shown = this.#parts.find((part) => part.kind === kind && part.index === index);
    if (shown && shown !== this.#open) return;
    const text = this.#part(kind, index).text;
    if (whole.length <= text.length || !whole.startsWith(text)) return;
    const delta = whole.slice(text.length);
    if (kind === "output_text") {
      this.text({
        $typeName: "sluice.inference.v1.TextDelta",
        index: this.#index,
        part: index,
        delta,
        logprobsJson: new Uint8Array(),
      });
    } else this.delta(kind, index, delta);
  }

  /** The part that takes the delta; another one that was open is closed first. */
  #part(kind: PartKind, index: number): Part {
    const open = this.#open;
    if (open && open.kind === kind && open.index === index) return open;
    this.#close();
    const part: Part = { kind, index, text: "", annotations: [], logprobs: [] };
    this.#parts.push(part);
    this.#open = part;
    const stem = kind === "summary_text" ? "response.reasoning_summary_part" : "response.content_part";
    this.#emit(`${stem}.added`, `${this.#position(kind, index)},"part":${JSON.stringify(partValue(part))}`);
    return part;
  }

  #close(): void {
    const part = this.#open;
    if (!part) return;
    this.#open = undefined;
    const position = this.#position(part.kind, part.index);
    const text = JSON.stringify(part.text);
    if (part.kind === "output_text") {
      this.#emit("response.output_text.done", `${position},"text":${text},"logprobs":${JSON.stringify(part.logprobs)}`);
    } else {
      const member = part.kind === "refusal" ? "refusal" : "text";
      this.#emit(`response.${eventStem[part.kind]}.done`, `${position},"${member}":${text}`);
    }
    const stem = part.kind === "summary_text" ? "response.reasoning_summary_part" : "response.content_part";
    this.#emit(`${stem}.done`, `${position},"part":${JSON.stringify(partValue(part))}`);
  }

  #position(kind: PartKind, index: number): string {
    return `${this.#address},"${kind === "summary_text" ? "summary_index" : "content_index"}":${index}`;
  }
}

const eventStem = {
  output_text: "output_text",
  refusal: "refusal",
  reasoning_text: "reasoning_text",
  summary_text: "reasoning_summary_text",
} as const;

function partValue(part: Part): Record<string, unknown> {
  if (part.kind === "refusal") return { type: "refusal", refusal: part.text };
  if (part.kind !== "output_text") return { type: part.kind, text: part.text };
  return { type: "output_text", text: part.text, annotations: part.annotations, logprobs: part.logprobs };
}
