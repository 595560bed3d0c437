/** What an answer says, in stretches that can be judged: to the end of a sentence, or four hundred characters. */
import { isObject } from "@sluice/proto/runtime/validation/fields.js";
import { windowsOf } from "../../internal/windows.ts";
import type { OutputItem, TurnEvent } from "../../turn/turn.ts";
import { placesIn } from "../input/places.ts";
import { edited, keyOf } from "../output/texts.ts";

/** UTF-16 units after which no end of a sentence is waited for. */
const longest = 400;
/** What is read again of what came before. */
const overlap = 200;

const sentenceEnd = /[.!?\u2026\u3002\uff01\uff1f]["')\]\u201d\u2019]?\s|\n/;

export class Stretch {
  /** What leads to it included. */
  text: string;
  judged = false;
  #said = "";

  constructor(before: string) {
    this.text = before;
  }

  /** @returns whether it is long enough to be judged */
  add(delta: string): boolean {
    this.text += delta;
    this.#said += delta;
    return this.#said.length >= longest || sentenceEnd.test(this.#said);
  }
}

export interface Taken {
  /** Once these were judged the event may be delivered. */
  readonly awaits: readonly Stretch[];
  /** They are over, and to be judged. */
  readonly closed: readonly Stretch[];
}

export class Stretches {
  /** By item, of a call whose words have no deltas: nothing of it passes before it is whole. */
  readonly #calls = new Map<number, Stretch[]>();
  /** By item and part. */
  readonly #open = new Map<string, Stretch>();
  readonly #before = new Map<string, string>();

  take(event: TurnEvent): Taken {
    if ("delta" in event) return this.#delta(`${event.index} ${keyOf(event)}`, event.delta);
    if (event.type === "item.start" && calls.has(event.item.type)) this.#calls.set(event.index, [new Stretch("")]);
    const call = "index" in event && event.index !== undefined ? this.#calls.get(event.index) : undefined;
    if (event.type === "item.end") return this.#end(event.index, event.item);
    if (call) return { awaits: call, closed: [] };
    return { awaits: [], closed: event.type === "end" ? this.#close("") : [] };
  }

  #delta(channel: string, delta: string): Taken {
    const stretch = this.#open.get(channel) ?? new Stretch(this.#before.get(channel) ?? "");
    this.#open.set(channel, stretch);
    const over = stretch.add(delta);
    if (over) this.#over(channel, stretch);
    return { awaits: [stretch], closed: over ? [stretch] : [] };
  }

  /** Of an item without deltas all texts are there now. */
  #end(index: number, item: OutputItem): Taken {
    const prefix = `${index} `;
    const streamed = [...this.#open.keys(), ...this.#before.keys()].some((channel) => channel.startsWith(prefix));
    if (streamed) return { awaits: [], closed: this.#close(prefix) };
    const whole = [...textsOf(item)].flatMap((text) => [...windowsOf(text)]).map(({ text }) => new Stretch(text));
    const call = this.#calls.get(index);
    call?.splice(0, call.length, ...whole);
    return { awaits: whole, closed: whole };
  }

  #close(prefix: string): readonly Stretch[] {
    const over = [...this.#open].filter(([channel]) => channel.startsWith(prefix));
    for (const [channel, stretch] of over) this.#over(channel, stretch);
    return over.map(([, stretch]) => stretch);
  }

  #over(channel: string, stretch: Stretch): void {
    this.#open.delete(channel);
    this.#before.set(channel, stretch.text.slice(-overlap));
  }
}

/** In which a model says by other fields what it wants done; what tools gave back, others have said. */
const calls: ReadonlySet<string> = new Set([
  "shell_call",
  "local_shell_call",
  "computer_call",
  "mcp_approval_request",
  "web_search_call",
  "file_search_call",
  "tool_search_call",
]);

function* textsOf(item: OutputItem): Iterable<string> {
  const texts: string[] = calls.has(item.type) ? [wantedBy(item)] : [];
  edited(item, (_, text) => {
    texts.push(text);
    return { text };
  });
  yield* texts.filter((text) => text !== "");
}

/** What the provider has found for it is not among that. */
function wantedBy(item: OutputItem): string {
  const action: unknown = item["action"];
  const wanted = { ...item, results: [], action: isObject(action) ? { ...action, sources: [] } : action };
  const places = [...placesIn(wanted)].filter(({ isName }) => !isName);
  return places
    .map(({ text }) => text)
    .toReversed()
    .join("\n");
}
