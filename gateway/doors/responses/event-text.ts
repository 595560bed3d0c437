/** Writes the server-sent events of one batch as one text, with sequence numbers from 0. */

/** The beginning of each event of a type, up to its sequence number. */
export const eventHead = (type: string): string => `event: ${type}\ndata: {"type":"${type}","sequence_number":`;

export class EventText {
  #text = "";
  #sequence = 0;

  /** Adds an event. @param payload members of the event without braces */
  add(type: string, payload: string): void {
    this.#text += `${eventHead(type)}${this.#sequence++}${payload === "" ? "" : `,${payload}`}}\n\n`;
  }

  /**
   * Adds an event with a prepared head.  @param head result of `eventHead`  @param payload members of the event without braces, with a leading comma
   */
  addPrepared(head: string, payload: string): void {
    this.#text += `${head}${this.#sequence++}${payload}}\n\n`;
  }

  /** Adds text that is not an event. */
  addRaw(text: string): void {
    this.#text += text;
  }

  /** Returns the events since the last call. */
  take(): string {
    const text = this.#text;
    this.#text = "";
    return text;
  }
}
