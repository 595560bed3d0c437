/** Reads the text of one office file or book as Markdown. */
import { documentLimits } from "../documents/limits.ts";
import type { DocumentText } from "../documents/readers.ts";
import { isAllowanceExceeded, resetAllowance } from "../documents/allowance.ts";
import { UnreadableDocument } from "../documents/unreadable.ts";
import type { DocumentKind } from "../../../turn/file-text.ts";
import { Archive } from "./archive.ts";
import { readDocx } from "./docx.ts";
import { readEpub } from "./epub.ts";
import { readPptx } from "./pptx.ts";
import { UnhandledParts } from "./rest.ts";
import { readXlsx } from "./xlsx.ts";

const parsers: Readonly<
  Record<Exclude<DocumentKind, "pdf">, (archive: Archive, rest: UnhandledParts) => Iterable<string>>
> = {
  docx: readDocx,
  xlsx: readXlsx,
  pptx: readPptx,
  epub: readEpub,
};

/** Reads the text of a file. @throws UnreadableDocument; Error for a damaged file */
export function readOfficeFile(kind: Exclude<DocumentKind, "pdf">, bytes: Uint8Array): DocumentText {
  resetAllowance();
  try {
    const rest = new UnhandledParts();
    const text = join(parsers[kind](new Archive(bytes), rest));
    return rest.texts.length === 0 ? text : { ...text, beside: rest.texts };
  } catch (error) {
    throw isAllowanceExceeded() ? new UnreadableDocument("takes more memory than one file may") : error;
  }
}

function join(sections: Iterable<string>): DocumentText {
  const texts: string[] = [];
  let length = 0;
  for (const section of sections) {
    if (section.trim() === "") continue;
    texts.push(section);
    length += section.length + 2;
    if (length > documentLimits.characters) break;
  }
  const text = texts.join("\n\n");
  const truncated = text.length > documentLimits.characters;
  return { text: truncated ? text.slice(0, documentLimits.characters) : text, truncated };
}
