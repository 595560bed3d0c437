/** URLs as others write them. */

/**
 * Undefined for what is none. Not by URL.canParse: once it is hot, Node 20 and 22 say no to letters such as é and ü
 * (https://github.com/nodejs/node/pull/58023).
 */
export function urlIn(text: string, base?: string): URL | undefined {
  try {
    return new URL(text, base);
  } catch {
    return undefined;
  }
}
