/** Reads a presentation (ECMA-376, PresentationML): the titles, texts, tables and notes of its slides in their order. */
import type { Archive } from "./archive.ts";
import { toPipeTable } from "../pipe-table.ts";
import type { UnhandledParts } from "./rest.ts";
import { parseXml } from "./xml.ts";

export function* readPptx(archive: Archive, rest: UnhandledParts): Iterable<string> {
  const shown = new Set<string>();
  const main = archive.mainPart();
  const targets = new Map(archive.relations(main).map(({ id, target }) => [id, target]));
  let number = 0;
  for (const id of slideIds(archive.part(main))) {
    const path = targets.get(id);
    const slide = path === undefined ? undefined : archive.find(path);
    number++;
    if (path === undefined || slide === undefined) continue;
    const notes = archive.relations(path).find(({ type }) => type === "notesSlide");
    const noted = notes && archive.find(notes.target);
    const blocks = [`## Slide ${number}`, ...readShapes(slide, rest)];
    shown.add(path);
    const noteShapes = noted ? readShapes(noted, rest) : [];
    if (notes && noted) shown.add(notes.target);
    if (noteShapes.length > 0) blocks.push(`Notes:\n${noteShapes.join("\n")}`);
    yield blocks.join("\n\n");
  }
  rest.addParts(archive, shown);
}

function slideIds(part: Uint8Array): string[] {
  const ids: string[] = [];
  parseXml(part, { open: (name, attributes) => name === "sldId" && ids.push(attributes["r:id"] ?? "") });
  return ids;
}

/** Types of placeholders with the same text on every slide: slide number, date and footer. */
const furniture: ReadonlySet<string> = new Set(["sldNum", "dt", "ftr", "hdr"]);

/** The texts of a slide's shapes, each one block. */
function readShapes(part: Uint8Array, rest: UnhandledParts): string[] {
  const blocks: string[] = [];
  let lines: string[] = [];
  let line = "";
  let placeholder = "";
  let isText = false;
  let rows: string[][] | undefined;
  const endShape = () => {
    const text = lines.filter((each) => each.trim() !== "").join("\n");
    lines = [];
    if (furniture.has(placeholder)) rest.add(text);
    else if (text !== "")
      blocks.push(/^(?:ctrT|t)itle$/.test(placeholder) ? `### ${text.replaceAll("\n", " ")}` : text);
    placeholder = "";
  };
  parseXml(part, {
    open(name, attributes) {
      rest.open(name, attributes);
      if (name === "ph") placeholder = attributes["type"] ?? "";
      else if (name === "t") isText = true;
      else if (name === "br") line += "\n";
      else if (name === "tbl") rows = [];
      else if (name === "tr") rows?.push([]);
    },
    text(text) {
      if (isText) line += text;
      else rest.text(text);
    },
    comment: rest.comment,
    close(name) {
      rest.close(name);
      if (name === "t") isText = false;
      else if (name === "p") {
        lines.push(line);
        line = "";
      } else if (name === "tc") {
        rows?.at(-1)?.push(lines.join(" ").trim());
        lines = [];
      } else if (name === "tbl" && rows) {
        blocks.push(toPipeTable(rows));
        rows = undefined;
      } else if (name === "sp") endShape();
    },
  });
  return blocks;
}
