/** Converts the reasoning of an earlier answer to reasoning items. */
import { jsonMember } from "./content.ts";
import { type ReasoningPosition, parsePositionedId } from "./details.ts";
import type { ChatMessage, ContentPart, ReasoningDetail } from "./message.ts";

/** A reasoning item, assembled from its entries. */
class Thought {
  readonly #texts: string[] = [];
  readonly #summaries: string[] = [];
  #place: number | null | undefined = undefined;
  #id: string | undefined = undefined;
  #format: string | undefined = undefined;
  #signature = "";
  #data = "";
  place: ReasoningPosition | undefined = undefined;

  /** Whether an entry belongs to this item: it has the same id or, if an id is missing, it can follow the item's entries so far. */
  takes({ type, id }: ReasoningDetail): boolean {
    if (id && this.#id) return id === this.#id;
    if (type === "reasoning.text") return this.#data === "" && this.#signature === "";
    return this.#data === "";
  }

  add(entry: ReasoningDetail): void {
    this.place ??= parsePositionedId(entry.id).place;
    this.#id ??= entry.id || undefined;
    this.#format ??= entry.format ?? undefined;
    if (entry.signature) this.#signature = entry.signature;
    if (entry.type === "reasoning.encrypted") this.#data += entry.data ?? "";
    else if (entry.type === "reasoning.summary") this.#grow(this.#summaries, entry.summary ?? "", entry.index);
    else this.#grow(this.#texts, entry.text ?? "", entry.index);
  }

  /** Adds an entry's text. Streamed entries with the same index are pieces of one text. */
  #grow(parts: string[], text: string, index: number | null | undefined): void {
    const isPiece = parts.length > 0 && (index === this.#place || typeof index !== "number");
    this.#place = index;
    if (isPiece) parts[parts.length - 1] += text;
    else if (text !== "") parts.push(text);
  }

  json(): string {
    const content = this.#texts.length === 0 ? "" : `,"content":${partsJson("reasoning_text", this.#texts)}`;
    return (
      `{"type":"reasoning"${jsonMember("id", parsePositionedId(this.#id).id)},"summary":${partsJson("summary_text", this.#summaries)}${content}` +
      `${jsonMember("format", this.#format)}${this.#signature === "" ? "" : jsonMember("signature", this.#signature)}` +
      `${this.#data === "" ? "" : jsonMember("encrypted_content", this.#data)}}`
    );
  }
}

const partsJson = (type: string, texts: readonly string[]): string =>
  `[${texts.map((text) => `{"type":"${type}","text":${JSON.stringify(text)}}`).join(",")}]`;

/** A reasoning item as JSON, with its position in the message. */
export interface PositionedReasoning {
  readonly json: string;
  readonly place: ReasoningPosition;
}

const beginning: ReasoningPosition = { afterText: false, calls: 0 };

/** The reasoning items of an assistant message in their order, from whichever of the fields for reasoning the client sent. */
export function positionReasoning({
  reasoning_details: details,
  reasoning,
  reasoning_content: reasoningContent,
  content,
  tool_calls: calls,
}: ChatMessage): readonly PositionedReasoning[] {
  if (details && details.length > 0) return thoughtsIn(details);
  const plain = reasoning || reasoningContent;
  const texts = plain ? [plain] : thinkingIn(content);
  // DeepSeek answers 400 if a thinking model's message with calls lacks the field, so an empty field also becomes a reasoning item.
  if (texts.length === 0 && !(reasoningContent === "" && calls?.length)) return [];
  const parts = partsJson("reasoning_text", texts);
  return [{ json: `{"type":"reasoning","summary":[],"content":${parts}}`, place: beginning }];
}

/** Reasoning in the content parts of a message, where Mistral's models put it. */
function thinkingIn(content: ChatMessage["content"]): readonly string[] {
  if (typeof content !== "object" || content === null) return [];
  const textsOf = ({ thinking }: ContentPart): readonly string[] =>
    typeof thinking === "string"
      ? [thinking]
      : ((thinking ?? []) as readonly { text: string }[]).map(({ text }) => text);
  return content
    .filter(({ type }) => type === "thinking")
    .flatMap(textsOf)
    .filter((text) => text !== "");
}

function thoughtsIn(details: readonly ReasoningDetail[]): readonly PositionedReasoning[] {
  const thoughts: Thought[] = [];
  let last: Thought | undefined;
  for (const entry of details) {
    if (last === undefined || !last.takes(entry)) {
      last = new Thought();
      thoughts.push(last);
    }
    last.add(entry);
  }
  return thoughts.map((thought) => ({ json: thought.json(), place: thought.place ?? beginning }));
}
