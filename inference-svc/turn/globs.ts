/** Compares whole slugs with patterns, case-sensitively; an asterisk stands for any number of characters. */

export class Globs {
  readonly #exact = new Set<string>();
  /** For each pattern with asterisks, the texts between the asterisks. */
  readonly #wild: (readonly string[])[] = [];

  constructor(patterns: readonly string[]) {
    for (const pattern of new Set(patterns)) {
      if (pattern.includes("*")) this.#wild.push(pattern.split(/\*+/));
      else this.#exact.add(pattern);
    }
  }

  matches(slug: string): boolean {
    return this.#exact.has(slug) || this.#wild.some((parts) => fits(slug, parts));
  }
}

/**
 * Whether the slug contains the parts in order. Takes the first occurrence of each part without backtracking, so no
 * pattern takes quadratic time. @param parts texts between asterisks, at least two
 */
function fits(slug: string, parts: readonly string[]): boolean {
  const first = parts[0] as string;
  const last = parts.at(-1) as string;
  if (!slug.startsWith(first) || !slug.endsWith(last)) return false;
  let at = first.length;
  for (const part of parts.slice(1, -1)) {
    const found = slug.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return at + last.length <= slug.length;
}
