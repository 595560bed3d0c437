/** A streamed text of an answer: its received, its delivered and its redacted text. */
import type { Region } from "../../../turn/replacements.ts";

/** The joined text and the item of a part. */
export interface PartMembership {
  /** Parts with the same key are joined by clients, whatever comes between them. */
  readonly joinKey: string;
  /** The part's item, compared by identity. */
  readonly item: unknown;
}

export class TextPart<Key = unknown> {
  readonly key: Key;
  readonly membership: PartMembership;
  /** Delivers text; it is never called with half of a surrogate pair. */
  readonly deliver: (text: string) => void;
  /** Place of the part's first character in the delivery buffer; undefined before the character has come. */
  start: number | undefined;
  raw = "";
  delivered = "";
  /** Replaced regions, by their places in `raw`. */
  readonly replacements: Region[] = [];

  constructor(key: Key, of: PartMembership, deliver: (text: string) => void) {
    this.key = key;
    this.membership = of;
    this.deliver = deliver;
  }
}
