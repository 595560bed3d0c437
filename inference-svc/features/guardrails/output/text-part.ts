/** A streamed text of an answer: the text as received and as delivered, and its redactions. */
import type { Region } from "../../../turn/replacements.ts";

/** The joined text and the item to which a part belongs. */
export interface PartMembership {
  /** Key of the joined text: clients join parts with the same key, whatever comes between them. */
  readonly joinKey: string;
  /** The part's item, compared by identity. */
  readonly item: unknown;
}

export class TextPart<Key = unknown> {
  readonly key: Key;
  readonly membership: PartMembership;
  /** Delivers text of the part; it is never called with half of a surrogate pair. */
  readonly deliver: (text: string) => void;
  /** Place of the part's first character in the delivery buffer; undefined before this character has come. */
  start: number | undefined;
  raw = "";
  delivered = "";
  /** Replaced regions, with places in `raw`. */
  readonly replacements: Region[] = [];

  constructor(key: Key, of: PartMembership, deliver: (text: string) => void) {
    this.key = key;
    this.membership = of;
    this.deliver = deliver;
  }
}
