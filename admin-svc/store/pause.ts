/** The pause between two rounds of a background loop; a poke ends it at once. */
export class Pause {
  readonly #ms: number;
  #isPoked = false;
  #wake = () => {};

  constructor(ms: number) {
    this.#ms = ms;
  }

  /** Ends the pause, or the next pause if none is running. */
  poke(): void {
    this.#isPoked = true;
    this.#wake();
  }

  /** Forgets the pokes so far: their work is done in this round. */
  clear(): void {
    this.#isPoked = false;
  }

  wait(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#isPoked) return resolve();
      const timer = setTimeout(resolve, this.#ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
