/** Facts about converted messages and tools that are needed when a later request contains them again, and for its turn. */
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
  /** For each item, the block or message of the request from which it was made. */
  readonly places: ItemPaths[] = [];
  /** Ids of the message's function calls. */
  readonly calls: (string | undefined)[] = [];
  /** Names of tools that a search in the message has found. */
  readonly found: string[] = [];
  /** Fields of the message that reach no provider. */
  readonly unsent: Unsent[] = [];
  /** Paths of unknown fields in the message. */
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

/** How a tool is offered to the model: shown, deferred until a search by the provider or the client finds it, or withheld. */
export type ToolVisibility = "shown" | "deferred" | "withheld";

/** Facts about a function described by the client; other kinds of tools are converted again for each request. */
export class ToolNote implements ElementNote {
  readonly standIn: MessagesTool;
  /** The offer of the tool in the earlier request; a longer conversation may change it. */
  readonly offer: ToolVisibility;

  constructor({ name, defer_loading }: MessagesTool, offer: ToolVisibility) {
    this.standIn = { name, defer_loading, input_schema: {} } as MessagesTool;
    this.offer = offer;
  }

  get size(): number {
    return 1;
  }
}
