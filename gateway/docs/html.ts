/** HTML as text: what is put in is escaped, what is HTML already is not. */

export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Part = string | number | Html | undefined | readonly Part[];

const entities: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

function textOf(part: Part): string {
  if (part === undefined) return "";
  if (part instanceof Html) return part.text;
  if (typeof part === "object") return part.map(textOf).join("");
  return String(part).replaceAll(/[&<>"]/g, (character) => entities[character] as string);
}

export const html = (strings: TemplateStringsArray, ...parts: readonly Part[]): Html =>
  new Html(strings.reduce((text, string, index) => text + textOf(parts[index - 1]) + string));

/** Text with words in backticks as code. */
export const prose = (text: string): Html =>
  html`${text.split("`").map((piece, index) => (index % 2 === 1 ? html`<code>${piece}</code>` : piece))}`;
