/** Facts about already converted messages and tools, for the turn. */
import type { ElementNote } from "../../edge/turns/repeated-array.ts";
import type { ItemPaths } from "./field-names.ts";
import type { MessagesTool } from "./tools.ts";

const message = { role: "user", content: "" };

/** A field that reaches no provider, by its path. */
export interface Unsent {
  readonly path: string;
  readonly reason: string;
}

export class MessageNote implements ElementNote {
  /** The block or message that each of its items was made from. */
  readonly places: ItemPaths[] = [];
  /** Ids of the calls of functions. */
  readonly calls: (string | undefined)[] = [];
  /** Names of tools found by a search. */
  readonly found: string[] = [];
  /** Fields that reach no provider. */
  readonly unsent: Unsent[] = [];
  /** Paths of unknown fields. */
  unread: readonly string[] = [];

  get standIn(): object {
    return message;
  }

  get size(): number {
    const { places, calls, found, unsent, unread } = this;
    const parts = places.reduce((sum, place) => sum + 1 + (place.parts?.length ?? 0), 0);
    return parts + calls.length + found.length + unsent.length + unread.length;
  }
}

/** How a tool is offered: to the model, deferred for a search of the request or of the client, or not at all. */
export type ToolVisibility = "shown" | "deferred" | "withheld";

/** A function: the only kind of tool that is remembered. */
export class ToolNote implements ElementNote {
  readonly standIn: MessagesTool;
  /** Depends on the conversation, too. */
  readonly offer: ToolVisibility;

  constructor({ name, defer_loading }: MessagesTool, offer: ToolVisibility) {
    this.standIn = { name, defer_loading, input_schema: {} } as MessagesTool;
    this.offer = offer;
  }

  get size(): number {
    return 1;
  }
}
