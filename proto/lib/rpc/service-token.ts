/** The service token of internal calls: a fixed text, or the current content of a file. */
import { readFileSync } from "node:fs";
import { ConfigError } from "../process/environment.ts";
import type { Logger } from "../log/log.ts";

export type ServiceToken = string | TokenFile;

/** The token that this process sends. */
export const tokenToSend = (token: ServiceToken): string => (typeof token === "string" ? token : token.accepted[0]);

/** The tokens that this process accepts. */
export const acceptedTokens = (token: ServiceToken): readonly string[] =>
  typeof token === "string" ? [token] : token.accepted;

const lookMs = 1_000;
/** Minimum length in characters, because shorter tokens could be guessed; 256 bits in hexadecimal have 64. */
const minLength = 32;
/** Maximum number of tokens: the current token, and its predecessor or successor. */
const maxTokens = 2;

type Tokens = readonly [string, ...string[]];

/**
 * A file with one or two tokens, one a line. The first is sent, both are accepted. The file is checked every second,
 * because mounted secrets are replaced while the process runs.
 */
export class TokenFile {
  readonly #path: string;
  #text: string;
  #accepted: Tokens;

  /** @throws ConfigError when the file is invalid or cannot be read */
  constructor(path: string, log: Logger) {
    this.#path = path;
    try {
      this.#text = readFileSync(path, "utf8");
      this.#accepted = tokensIn(this.#text);
    } catch (error) {
      throw new ConfigError(`SLUICE_SERVICE_TOKEN_FILE ${path}`, [(error as Error).message]);
    }
    setInterval(() => this.#look(log), lookMs).unref();
  }

  get accepted(): Tokens {
    return this.#accepted;
  }

  #look(log: Logger): void {
    try {
      const text = readFileSync(this.#path, "utf8");
      if (text === this.#text) return;
      this.#text = text;
      this.#accepted = tokensIn(text);
      log.info("service token was reloaded");
    } catch (error) {
      log.error({ err: error }, "the service token cannot be read; the last one stays in force");
    }
  }
}

/** Parses the file. @throws Error whose text never quotes the file */
function tokensIn(text: string): Tokens {
  const [first, ...others] = text.split(/\s+/).filter((word) => word !== "");
  if (first === undefined || others.length >= maxTokens) throw new Error(`1 to ${maxTokens} lines, a token in each`);
  if ([first, ...others].some((token) => token.length < minLength)) {
    throw new Error(`each token has at least ${minLength} characters`);
  }
  return [first, ...others];
}

/** Opens the service token. @param path of a token file, which replaces the fixed token. @throws ConfigError */
export const openServiceToken = (fixed: string, path: string | undefined, log: Logger): ServiceToken =>
  path === undefined ? fixed : new TokenFile(path, log);
