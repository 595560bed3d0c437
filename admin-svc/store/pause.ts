/** The pause between two rounds of a background loop, which `poke` ends at once. */
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

  /** Discards earlier pokes, because the starting round does their work. */
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
