/** The share of prompt tokens in the tokens of this process's answers; older answers count less. */

/** Milliseconds after which an answer counts half. */
const halfLifeMs = 24 * 60 * 60_000;
/** Minimum number of answers: with fewer, a few long answers would decide the share. */
const minAnswers = 100;

export class TokenMix {
  #prompt = 0;
  #completion = 0;
  #answers = 0;
  #at = 0;

  /** @param now time in milliseconds */
  add(promptTokens: number, completionTokens: number, now: number): void {
    this.#decay(now);
    this.#prompt += promptTokens;
    this.#completion += completionTokens;
    this.#answers += 1;
  }

  /** Share of prompt tokens, from 0 to 1; undefined while there are too few answers. */
  promptShare(now: number): number | undefined {
    this.#decay(now);
    const all = this.#prompt + this.#completion;
    return this.#answers < minAnswers || all === 0 ? undefined : this.#prompt / all;
  }

  #decay(now: number): void {
    const factor = 0.5 ** ((now - this.#at) / halfLifeMs);
    this.#prompt *= factor;
    this.#completion *= factor;
    this.#answers *= factor;
    this.#at = now;
  }
}
