/** The mix of prompt and completion tokens in the answers of this process; older answers count less. */

/** An answer counts half after this time. */
const halfLifeMs = 24 * 60 * 60_000;
/** Minimum number of answers for a mix: among fewer, a few long answers decide. */
const minAnswers = 100;

export class TokenMix {
  #prompt = 0;
  #completion = 0;
  #answers = 0;
  #at = 0;

  /** @param now milliseconds */
  add(promptTokens: number, completionTokens: number, now: number): void {
    this.#decay(now);
    this.#prompt += promptTokens;
    this.#completion += completionTokens;
    this.#answers += 1;
  }

  /** Share of the prompt, from 0 to 1; undefined while there are too few answers. */
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
