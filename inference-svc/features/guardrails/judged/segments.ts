/** Cuts a streamed answer into segments for the judge. Each ends with a sentence, or after 400 UTF-16 units. */
import { isObject } from "@sluice/proto/lib/validation/fields.js";
import { splitIntoWindows } from "../../../content/text-windows.ts";
import type { OutputItem, TurnEvent } from "../../../turn/turn.ts";
import { findTextPositions } from "../../../content/text-places.ts";
import { listTexts, toTextKey } from "../../../turn/item-texts.ts";

/** Maximum UTF-16 units of a segment in which no sentence ends. */
const maxUnits = 400;
/** UTF-16 units of the previous segment the judge gets again as context. */
const contextUnits = 200;

const sentenceEnd = /[.!?\u2026\u3002\uff01\uff1f]["')\]\u201d\u2019]?\s|\n/;

export class JudgedSegment {
  /** Text of the segment, including the context in front. */
  text: string;
  judged = false;
  #fresh = "";

  constructor(before: string) {
    this.text = before;
  }

  /** Adds text to the segment. @returns whether the segment is ready for the judge */
  add(delta: string): boolean {
    this.text += delta;
    this.#fresh += delta;
    return this.#fresh.length >= maxUnits || sentenceEnd.test(this.#fresh);
  }
}

export interface SegmentedEvent {
  /** The segments whose verdicts the event waits for. */
  readonly awaits: readonly JudgedSegment[];
  /** Segments that have just ended and can be judged. */
  readonly closed: readonly JudgedSegment[];
}

export class AnswerSegments {
  /** Calls without deltas, by output index: nothing of such a call is delivered before it is complete. */
  readonly #calls = new Map<number, JudgedSegment[]>();
  /** Segments that are still growing, by output index and part. */
  readonly #open = new Map<string, JudgedSegment>();
  readonly #contexts = new Map<string, string>();

  take(event: TurnEvent): SegmentedEvent {
    if ("delta" in event) return this.#delta(`${event.index} ${toTextKey(event)}`, event.delta);
    if (event.type === "item.start" && callTypesWithoutDeltas.has(event.item.type))
      this.#calls.set(event.index, [new JudgedSegment("")]);
    const call = "index" in event && event.index !== undefined ? this.#calls.get(event.index) : undefined;
    if (event.type === "item.end") return this.#end(event.index, event.item);
    if (call) return { awaits: call, closed: [] };
    return { awaits: [], closed: event.type === "end" ? this.#close("") : [] };
  }

  #delta(key: string, delta: string): SegmentedEvent {
    const segment = this.#open.get(key) ?? new JudgedSegment(this.#contexts.get(key) ?? "");
    this.#open.set(key, segment);
    const over = segment.add(delta);
    if (over) this.#endSegment(key, segment);
    return { awaits: [segment], closed: over ? [segment] : [] };
  }

  /** Ends the segments of an item. The texts of an item without deltas are known only now. */
  #end(index: number, item: OutputItem): SegmentedEvent {
    const prefix = `${index} `;
    const streamed = [...this.#open.keys(), ...this.#contexts.keys()].some((key) => key.startsWith(prefix));
    if (streamed) return { awaits: [], closed: this.#close(prefix) };
    const whole = findItemTexts(item)
      .flatMap((text) => [...splitIntoWindows(text)])
      .map(({ text }) => new JudgedSegment(text));
    const call = this.#calls.get(index);
    call?.splice(0, call.length, ...whole);
    return { awaits: whole, closed: whole };
  }

  #close(prefix: string): readonly JudgedSegment[] {
    const over = [...this.#open].filter(([key]) => key.startsWith(prefix));
    for (const [key, segment] of over) this.#endSegment(key, segment);
    return over.map(([, segment]) => segment);
  }

  #endSegment(key: string, segment: JudgedSegment): void {
    this.#open.delete(key);
    this.#contexts.set(key, segment.text.slice(-contextUnits));
  }
}

/**
 * Types of calls that state the model's request in fields without deltas. Results of tools are not in this list: the
 * model did not write them.
 */
const callTypesWithoutDeltas: ReadonlySet<string> = new Set([
  "shell_call",
  "local_shell_call",
  "computer_call",
  "mcp_approval_request",
  "web_search_call",
  "file_search_call",
  "tool_search_call",
]);

function findItemTexts(item: OutputItem): readonly string[] {
  const texts = listTexts(item).map(({ text }) => text);
  if (callTypesWithoutDeltas.has(item.type)) texts.unshift(describeCall(item));
  return texts.filter((text) => text !== "");
}

/** The texts of a call the model wrote, without results added by the provider. */
function describeCall(item: OutputItem): string {
  const action: unknown = item["action"];
  const wanted = { ...item, results: [], action: isObject(action) ? { ...action, sources: [] } : action };
  const places = [...findTextPositions(wanted)].filter(({ isIdentifier: isName }) => !isName);
  return places
    .map(({ text }) => text)
    .toReversed()
    .join("\n");
}
