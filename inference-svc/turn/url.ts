/** Parses URLs; the text may be malformed. */

/**
 * Parses a URL. URL.canParse is not used: once it is hot, Node 20 and 22 refuse letters such as é and ü
 * (https://github.com/nodejs/node/pull/58023).
 * @returns undefined for other texts
 */
export function parseUrl(text: string, base?: string): URL | undefined {
  try {
    return new URL(text, base);
  } catch {
    return undefined;
  }
}
