/** Texts with secrets among ordinary words, disguised in ways that a model can be prompted to use. */
import type { Random } from "../../../support/random.ts";
import { splitAnywhere } from "./generate.ts";

export const hiddenSecrets = ["plutonium", "hunter2", "alpha-7"] as const;
export type Secret = (typeof hiddenSecrets)[number];

export interface DisguisedText {
  /** Secrets in the text, in order, each with the spelling that must not be delivered. */
  readonly hidden: readonly { readonly secret: Secret; readonly written: string }[];
  readonly pieces: readonly string[];
}

const ordinary = [
  "I am a man of a certain age, and 100% sure. ",
  "const a = b + c; if (x) { i++; }\n",
  "https://a.example/path?q=%20x&y=1 ",
  "\u2014 \u201cna\u00efve\u201d caf\u00e9 \u4f60\u597d \u043f\u0440\u0438\u0432\u0435\u0442 \u{1f600} ",
  "3deba7a99f04c1 550e8400-e29b-41d4-a716-446655440000 ",
  "\\begin{x} C:\\users\\n ",
  "- a\n- b\n",
  "0x7ffe5d3a 0x0 \\xff\\x00 C:\\x \u{1f3f4}\u{e0067}\u{e0062}\u{e007f} ",
  "<td>12</td> a < b && c > d; i<n; [1] [link](https://a.example/x) **bold** `code` snake_case _x_ &nbsp; &amp;c&d 2 * 3 ",
  '<div class="a">\n<!-- note --> x</div> [a][b] x[i][j] ![alt](data:image/png;base64,AAAA) \\* a, b, c ',
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg== ",
];

const each = (text: string, write: (character: string) => string): string => Array.from(text, write).join("");
const base64 = (text: string): string => Buffer.from(text).toString("base64");
/** Adds words to a text, because an encoded word is decoded only from 16 digits on. */
const padded = (text: string): string => `the word is ${text}, keep it`;

const markup = [
  ..."<b> </i> <br-x/> <!--x--> <!---> ** ` ~~ ](x) ][1] [".split(" "),
  '<span title="a > b">',
  "<!-- a\n> -->",
  "](<a b> 'c')",
];

const disguises: readonly ((secret: string, random: Random) => string)[] = [
  (secret) => secret,
  (secret, random) => Array.from(secret).join("\u200b".repeat(1 + random.below(3))),
  (secret) => each(secret, (character) => String.fromCharCode(character.charCodeAt(0) + 0xfee0)),
  (secret) => secret.replaceAll("o", "\u043e").replaceAll("e", "\u0435").replaceAll("a", "\u0430"),
  (secret, random) =>
    each(secret, (character) => (random.chance(0.5) ? `%${Buffer.from(character).toString("hex")}` : character)),
  (secret) => each(secret, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`),
  (secret) => each(secret, (character) => `\\x${Buffer.from(character).toString("hex")}`),
  (secret) => each(secret, (character) => String.fromCodePoint(0xe0000 + character.charCodeAt(0))),
  (secret, random) => Array.from(secret).join(random.pick(["\u{e0041}", "\u{e0041}\u{e0042}"])),
  (secret) => secret.replaceAll("o", "\u1d0f").replaceAll("e", "\u1d07").replaceAll("a", "\u1d00"),
  (secret) => each(secret, (character) => `\\u{${character.charCodeAt(0).toString(16)}}`),
  (secret) => each(secret, (character) => `%25${Buffer.from(character).toString("hex")}`),
  (secret, random) =>
    each(
      secret,
      (character) => `${random.pick(["&", "&amp;"])}#${character.charCodeAt(0)}${random.pick([";", ";", ""])}`,
    ),
  (secret) => each(secret, (character) => `&#x${character.charCodeAt(0).toString(16)};`),
  (secret, random) => Array.from(secret).join(random.pick(markup)),
  (secret, random) => secret.slice(0, 3) + random.pick(markup) + secret.slice(3),
  (secret) => Array.from(secret).join("\u0336"),
  (secret) => `0x${Buffer.from(padded(secret)).toString("hex")}`,
  (secret) => base64(padded(secret)),
  (secret) => Buffer.from(padded(secret)).toString("base64url"),
  (secret) => Buffer.from(padded(secret)).toString("hex"),
  (secret) => base64(base64(padded(secret))),
  (secret) => base64(padded(Array.from(secret).join("\u200b"))),
  (secret, random) =>
    /\W|\d/.test(secret) ? secret : Array.from(secret).join(random.pick([" ", "-", ".", "_", ", ", "  ", " - "])),
];

export function disguiseText(random: Random): DisguisedText {
  const hidden: { secret: Secret; written: string }[] = [];
  let text = "";
  for (let count = random.below(5); count >= 0; count--) {
    text += random.pick(ordinary);
    if (random.chance(0.4)) continue;
    const secret = random.pick(hiddenSecrets);
    const written = random.pick(disguises)(secret, random);
    hidden.push({ secret, written });
    text += `${written} `;
  }
  return { hidden, pieces: splitAnywhere(text, random) };
}
