/**
 * Converts an array of a body to another array, such as messages to input items. Leading elements that an earlier array of the same key already had
 * are neither parsed nor checked nor converted again. The text of an element may depend on the elements before it, because these are unchanged, but
 * on nothing else.
 */
import { closeBracket, comma } from "@sluice/proto/lib/json/bytes.js";
import { type ByteSpan, type JsonMember, elementAt, elementsOf } from "@sluice/proto/lib/json/span.js";
import type { ScannedElement } from "@sluice/proto/lib/json/scanned-array.js";
import { readValue } from "./json.ts";

/** Facts about a converted element, besides its text, that are needed when a later array repeats it. */
export interface ElementNote {
  /** A value that passes all checks in place of the element. */
  readonly standIn: unknown;
  /** Number of texts and paths in the note, by which its memory is estimated. */
  readonly size: number;
}

/** Estimated bytes of an object with one text or path. */
const noteBytes = 64;

/** An element converted in an earlier request. */
class Reading<Note> {
  readonly note: Note;
  /** The converted array that contains the element's text. */
  bytes: Buffer;
  /** Place of the element's text in `bytes`. Its last byte is a comma, or the closing bracket of the array. */
  start: number;
  end: number;

  constructor(note: Note, bytes: Buffer, start: number, end: number) {
    this.note = note;
    this.bytes = bytes;
    this.start = start;
    this.end = end;
  }
}

type NoteKind<Note> = abstract new (...parts: never[]) => Note;

const absent: JsonMember = { key: "", start: 0, end: 0, array: undefined };

export class RepeatedArray<Note extends ElementNote> {
  readonly #body: Buffer;
  readonly #member: JsonMember;
  #known: readonly Reading<Note>[];
  /** Notes and texts of the elements after the known ones, collected as long as each element has a note. */
  readonly #notes: Note[] = [];
  readonly #texts: string[] = [];
  #remembers: boolean;
  #text = "";
  #spans: readonly ByteSpan[] | undefined;

  /**
   * @param member place of the array; undefined if the body has none  @param kind class of the notes: notes of another format for the same bytes are
   * of no use
   */
  constructor(body: Buffer, member: JsonMember | undefined, kind: NoteKind<Note>) {
    this.#body = body;
    this.#member = member ?? absent;
    this.#known = member?.array === undefined ? [] : knownAmong(member.array.elements, kind);
    this.#remembers = member?.array?.remember !== undefined;
  }

  /** Number of known leading elements. */
  get known(): number {
    return this.#known.length;
  }

  /** @param index number of a known element */
  note(index: number): Note {
    return this.#known[index]!.note;
  }

  /** Position in the body after the known elements; the array's start if no element is known. */
  get unreadFrom(): number {
    const { start, array } = this.#member;
    return this.known === 0 ? start : start + array!.ends[this.known - 1]!;
  }

  get start(): number {
    return this.#member.start;
  }

  /** Parses the array. Known elements are not parsed again; a short value takes the place of each. */
  parse(): unknown {
    if (this.known === 0) return readValue(this.#body, this.#member);
    return this.fill(JSON.parse(zeroed + this.#body.toString("utf8", this.unreadFrom, this.#member.end)));
  }

  /** Parses all elements, and treats none of them as known from now on. */
  parseAll(): unknown {
    this.#known = [];
    return readValue(this.#body, this.#member);
  }

  /**
   * Puts the stand-ins of all known elements in place of the array's first value. @param value parsed array, in which one value takes the place of
   * all known elements
   */
  fill(value: unknown): unknown {
    if (this.known === 0) return value;
    const filled = this.#known.map(({ note }) => note.standIn);
    const others = value as readonly unknown[];
    for (let index = 1; index < others.length; index++) filled.push(others[index]);
    return filled;
  }

  /** The place of an element in the body. */
  spanOf(index: number): ByteSpan {
    const { start, array } = this.#member;
    if (array !== undefined) return elementAt(this.#body, start, array.ends, index);
    this.#spans ??= elementsOf(this.#body, start);
    return this.#spans[index]!;
  }

  /**
   * Adds the conversion of the next element.  @param text JSON values, each followed by a comma; empty to leave the element out  @param note
   * undefined if the text depends on anything but the elements up to this one
   */
  add(text: string, note: Note | undefined): void {
    this.#text += text;
    this.#remembers &&= note !== undefined;
    if (!this.#remembers) return;
    this.#notes.push(note!);
    this.#texts.push(text);
  }

  /**
   * The converted array. Call it after all elements were added; they are then remembered.  @param before values before those of the elements, each
   * followed by a comma  @param after values after those of the elements
   */
  write(before = "", after = ""): Buffer {
    const head = `[${before}`;
    const tail = this.#text + after;
    const same = head.length + tail.length === 1 ? this.#writtenBefore() : undefined;
    if (same) return same;
    const written = this.known === 0 ? Buffer.from(head + tail) : this.#joinParts(head, tail);
    if (written.length === 1) return Buffer.from("[]");
    written[written.length - 1] = closeBracket;
    if (this.#notes.length > 0) this.#remember(written, Buffer.byteLength(head));
    return written;
  }

  /** The complete converted array of an earlier request, if it had exactly these elements. */
  #writtenBefore(): Buffer | undefined {
    const [first] = this.#known;
    const last = this.#known.at(-1);
    const isWhole = first?.start === 1 && first.bytes === last?.bytes && last.end === last.bytes.length;
    return isWhole ? first.bytes : undefined;
  }

  #joinParts(head: string, tail: string): Buffer {
    const headBytes = Buffer.byteLength(head);
    const knownBytes = this.#knownBytes();
    const buffer = Buffer.allocUnsafe(headBytes + knownBytes + Buffer.byteLength(tail));
    buffer.write(head);
    this.#copyKnown(buffer, headBytes);
    buffer.write(tail, headBytes + knownBytes);
    return buffer;
  }

  #knownBytes(): number {
    let sum = 0;
    for (const { start, end } of this.#known) sum += end - start;
    return sum;
  }

  /** Copies the texts of known elements; consecutive elements of one array are copied together. */
  #copyKnown(target: Buffer, place: number): void {
    const known = this.#known;
    let at = place;
    for (let first = 0; first < known.length; ) {
      const { bytes, start } = known[first]!;
      let last = first;
      while (known[last + 1]?.bytes === bytes) last++;
      const copied = bytes.copy(target, at, start, known[last]!.end);
      at += copied;
      if (copied > 0) target[at - 1] = comma;
      first = last + 1;
    }
  }

  /** @param from position of the first element in the converted array */
  #remember(written: Buffer, from: number): void {
    const { elements, remember } = this.#member.array!;
    let notes = 0;
    let at = from;
    for (const reading of this.#known) {
      const start = at;
      at += reading.end - reading.start;
      reading.bytes = written;
      reading.start = start;
      reading.end = at;
      notes += 1 + reading.note.size;
    }
    for (let index = 0; index < this.#notes.length; index++) {
      const note = this.#notes[index]!;
      const start = at;
      at += Buffer.byteLength(this.#texts[index]!);
      elements[this.known + index]!.reading = new Reading(note, written, start, at);
      notes += 1 + note.size;
    }
    remember!(written.length + noteBytes * notes);
  }
}

function knownAmong<Note>(elements: readonly ScannedElement[], kind: NoteKind<Note>): readonly Reading<Note>[] {
  const known: Reading<Note>[] = [];
  for (const { reading } of elements) {
    if (!(reading instanceof Reading) || !(reading.note instanceof kind)) break;
    known.push(reading as Reading<Note>);
  }
  return known;
}

/** Start of an array in which 0 takes the place of all known elements. */
const zeroed = "[0";

/** Parses a complete body, except for the known elements of these arrays. */
export function parseUnread(body: Buffer, arrays: readonly RepeatedArray<ElementNote>[]): unknown {
  const repeated = arrays.filter(({ known }) => known > 0).sort((one, other) => one.start - other.start);
  let text = "";
  let at = 0;
  for (const { start, unreadFrom } of repeated) {
    text += body.toString("utf8", at, start) + zeroed;
    at = unreadFrom;
  }
  return JSON.parse(text + body.toString("utf8", at));
}
