/** Writes the chunks of one batch of events as one text. */
export const doneSentinel = "data: [DONE]\n\n";

const beginning = "data: {";
const noReason = '},"finish_reason":null}]}\n\n';

export class ChunkText {
  /** The beginning of every chunk, up to `choices`. */
  #head = "";
  #beforeDelta = "";
  #text = "";

  /**
   * Starts the chunks of an answer. The head of a chunk is joined to one string here, once, since each chunk contains it. @param model slug of the
   * model in chunks from now on
   */
  begin(id: string, createdAt: number, model: string): void {
    this.#head = [
      beginning,
      '"id":"',
      id,
      '","object":"chat.completion.chunk","created":',
      createdAt,
      ',"model":',
      JSON.stringify(model),
      ',"choices":[',
    ].join("");
    this.#beforeDelta = [this.#head, '{"index":0,"delta":{'].join("");
  }

  /** Adds a chunk with a piece of the message. @param members members of the delta, without braces */
  delta(members: string): void {
    this.#text += this.#beforeDelta + members + noReason;
  }

  /**
   * Adds a chunk with a piece of text and the probabilities of its tokens. @param members members of the delta, without the closing brace @param
   * logprobs JSON array
   */
  probable(members: string, logprobs: string): void {
    this.#text += `${this.#beforeDelta}${members}},"logprobs":{"content":${logprobs},"refusal":null},"finish_reason":null}]}\n\n`;
  }

  /** Adds the final chunk of the message. @param members members of the chunk after `choices`, with leading commas */
  finish(reason: string, members: string): void {
    this.#text += `${this.#beforeDelta}},"finish_reason":"${reason}"}]${members}}\n\n`;
  }

  /**
   * Adds the chunk of a failure. Clients such as go-openai recognize it by `error` as the first member.
   * @param members starting with `error`, without braces
   */
  fail(members: string): void {
    const others = this.#beforeDelta.slice(beginning.length);
    this.#text += `${beginning}${members},${others}},"finish_reason":"error"}]}\n\n`;
  }

  /**
   * Adds a chunk of usage that the client did not request; clients of OpenRouter count tokens by it. It has a choice, because simple loops read the first
   * choice of each chunk, and an empty one, because openai-java drops the choices of a chunk with usage.
   */
  usage(members: string): void {
    this.#text += `${this.#beforeDelta}},"finish_reason":null}]${members}}\n\n`;
  }

  /** Adds a chunk with an empty `choices`. @param members members of the chunk after `choices`, with leading commas */
  apart(members: string): void {
    this.#text += `${this.#head}]${members}}\n\n`;
  }

  /** Adds text that is not a chunk. */
  raw(text: string): void {
    this.#text += text;
  }

  /** Returns the chunks since the last call. */
  take(): string {
    const text = this.#text;
    this.#text = "";
    return text;
  }
}
