/**
 * Separates the objects of one call's arguments. Google's compatible endpoint and servers built on it join parallel calls of one tool to
 * `{"q":"a"}{"q":"b"}`, and some servers write the same object twice (BerriAI/litellm issue 40582: of 70 such calls 48 repeated one object and
 * 22 had different ones; NousResearch/hermes-agent issue 62937). No client can parse the two as one call.
 */
import { ObjectEnd } from "../translate/object-end.ts";

/** Most further calls made of one: whatever follows stays with the last of them. */
const maxFurther = 128;
const openBrace = "{";
const emptyObject = /^\s*\{\s*\}\s*$/;

export class JoinedObjects {
  readonly #end = new ObjectEnd();
  /** Length of the text up to a second object; undefined while there is none. */
  #firstLength: number | undefined;
  #length = 0;
  /** True once a text other than an object follows the first one: then all of it belongs to the call. */
  #isPlain = false;

  /** Whether the first object has begun and is not closed. */
  get isOpen(): boolean {
    return this.#end.isOpen;
  }

  /** Whether the first object is closed: nothing can have cut it. */
  get isWhole(): boolean {
    return this.#end.reached;
  }

  /** @returns how many characters of the piece belong to the first object */
  read(piece: string): number {
    const before = this.#length;
    this.#length += piece.length;
    if (this.#firstLength !== undefined) return 0;
    if (this.#isPlain) return piece.length;
    const end = this.#end.read(piece);
    if (end === piece.length) return end;
    const rest = piece.slice(end);
    const next = rest.trimStart();
    if (next === "") return piece.length;
    this.#isPlain = !next.startsWith(openBrace);
    if (this.#isPlain) return piece.length;
    const own = piece.length - next.length;
    this.#firstLength = before + own;
    return own;
  }

  /**
   * The arguments of each call in the whole text, in order, without repetitions and without empty objects beside others; undefined for a text
   * of one call. The first of them begins the text.
   */
  split(text: string): readonly string[] | undefined {
    if (this.#firstLength === undefined) return undefined;
    const first = text.slice(0, this.#firstLength);
    const found = new Set([first.trim()]);
    for (let rest = text.slice(this.#firstLength); rest !== ""; ) {
      const end = new ObjectEnd();
      const length = end.read(rest);
      const behind = rest.slice(length).trimStart();
      // Text that is no object stays with the call before it.
      const isLast = !behind.startsWith(openBrace) || found.size === maxFurther;
      const object = isLast ? rest.trim() : rest.slice(0, length);
      if (!emptyObject.test(object)) found.add(object);
      rest = isLast ? "" : behind;
    }
    const [, ...further] = found;
    return [first, ...further];
  }
}
