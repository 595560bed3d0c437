/** By what our own processes know each other: a text that never changes, or what a file says now. */
import { readFileSync } from "node:fs";
import { ConfigError } from "../config.ts";
import type { Logger } from "../log.ts";

export type ServiceToken = string | TokenFile;

/** What this process presents to others. */
export const presented = (token: ServiceToken): string => (typeof token === "string" ? token : token.accepted[0]);

/** What it takes from others. */
export const acceptedBy = (token: ServiceToken): readonly string[] =>
  typeof token === "string" ? [token] : token.accepted;

const lookMs = 1_000;
/** 256 bits in hexadecimal have 64; with fewer than 32 it could be guessed. */
const minLength = 32;
/** The one in force, and the one before or after it. */
const maxTokens = 2;

type Tokens = readonly [string, ...string[]];

/**
 * A file with a token in each of its one or two lines. The first is presented, both are accepted. Looked at every second, also where
 * another file has taken its place, as a mounted secret does.
 */
export class TokenFile {
  readonly #path: string;
  #text: string;
  #accepted: Tokens;

  /** @throws ConfigError */
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
      log.info("service token read again");
    } catch (error) {
      log.error({ err: error }, "the service token cannot be read; the last one stays in force");
    }
  }
}

/** @throws Error that says what is wrong, and never the text */
function tokensIn(text: string): Tokens {
  const [first, ...others] = text.split(/\s+/).filter((word) => word !== "");
  if (first === undefined || others.length >= maxTokens) throw new Error(`1 to ${maxTokens} lines, a token in each`);
  if ([first, ...others].some((token) => token.length < minLength)) {
    throw new Error(`each token has at least ${minLength} characters`);
  }
  return [first, ...others];
}

/** @param path of the file that has it, where there is one. @throws ConfigError */
export const openServiceToken = (fixed: string, path: string | undefined, log: Logger): ServiceToken =>
  path === undefined ? fixed : new TokenFile(path, log);
