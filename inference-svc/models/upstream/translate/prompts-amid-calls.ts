/** Holds back prompts a client wrote between calls and their results, because formats require the results right after the calls. */
import type { OnDropped } from "../dialect.ts";

interface Held<Message> {
  readonly message: Message;
  readonly path: string;
}

export class PromptsAmidCalls<Message> {
  readonly #onDropped: OnDropped;
  /** Number of calls that have no result yet. */
  #open = 0;
  /** Prompts held back; undefined in nearly every conversation. */
  #held: Held<Message>[] | undefined;
  /** Number of held prompts a later result has overtaken. */
  #overtaken = 0;

  constructor(onDropped: OnDropped) {
    this.#onDropped = onDropped;
  }

  /** Whether every call has its result. */
  get isSettled(): boolean {
    return this.#open === 0;
  }

  call(): void {
    this.#open++;
  }

  answer(): void {
    if (this.#open > 0) this.#open--;
    if (this.#held) this.#overtaken = this.#held.length;
  }

  /** Holds a prompt back if results are missing. @returns whether it is held */
  holds(message: Message, path: string): boolean {
    if (this.#open === 0) return false;
    (this.#held ??= []).push({ message, path });
    return true;
  }

  /** Ends the calls, whether they have results or not. @returns the held prompts */
  release(): readonly Message[] {
    this.#open = 0;
    const held = this.#held;
    if (held === undefined) return [];
    for (const { path } of held.slice(0, this.#overtaken)) this.#onDropped(path, moved);
    this.#held = undefined;
    this.#overtaken = 0;
    return held.map(({ message }) => message);
  }
}

const moved = "repaired: sent behind the results of the calls before it, as the format requires";
