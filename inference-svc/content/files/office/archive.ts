/** Unpacks the text parts of a ZIP archive, within limits of size. */
import { unzipSync } from "fflate";
import { documentLimits } from "../documents/limits.ts";
import { UnreadableDocument } from "../documents/unreadable.ts";
import { checkEntries } from "./entries.ts";
import { parseXml } from "./xml.ts";

/** First bytes of compound files: the binary formats before Office 2007, and encrypted files. */
const compoundMark = [0xd0, 0xcf, 0x11, 0xe0];

/** A reference from one part to another, or to a place outside of the archive. */
export interface Relation {
  readonly id: string;
  /** Last segment of the type's URL, such as `footnotes`. */
  readonly type: string;
  /** Path of a part, or the URL of an external target. */
  readonly target: string;
  readonly isExternal: boolean;
}

/** Matches the names of parts with text. Other parts are pictures, fonts, macros and embedded files. */
const textual = /\.(?:xml|rels|vml|x?html?|mht|txt|rtf|csv|json|svg|ncx|opf)$/i;

export class Archive {
  readonly #parts: Readonly<Record<string, Uint8Array>>;

  /** Unpacks the archive. @throws UnreadableDocument; Error for a damaged archive */
  constructor(bytes: Uint8Array) {
    if (compoundMark.every((byte, index) => bytes[index] === byte))
      throw new UnreadableDocument("is encrypted, or in a format older than Office 2007");
    checkEntries(bytes);
    let unpacked = 0;
    let parts = 0;
    const names = new Set<string>();
    this.#parts = unzipSync(bytes, {
      filter({ name, originalSize }) {
        // Names are normalized: readers disagree about capital letters, slashes, and which of two equal names counts.
        const plain = resolvePath("", name.replaceAll("\\", "/")).toLowerCase();
        if (names.has(plain)) throw new UnreadableDocument("has two parts of one name");
        names.add(plain);
        if (!textual.test(name)) return false;
        unpacked += originalSize;
        // fflate writes no more than the declared size, so a false declaration only cuts the part off.
        if (unpacked > documentLimits.unpackedBytes || ++parts > documentLimits.parts)
          throw new UnreadableDocument("takes more memory than one file may");
        return true;
      },
    });
  }

  /** The bytes of a part. @throws Error when the archive has no such part */
  part(path: string): Uint8Array {
    const part = this.find(path);
    if (part === undefined) throw new Error(`no part ${path}`);
    return part;
  }

  /** All parts with text, by path. */
  parts(): readonly (readonly [path: string, part: Uint8Array])[] {
    return Object.entries(this.#parts);
  }

  find(path: string): Uint8Array | undefined {
    return Object.hasOwn(this.#parts, path) ? this.#parts[path] : undefined;
  }

  /** The relations of a part; of the whole archive for an empty path. */
  relations(path: string): readonly Relation[] {
    const slash = path.lastIndexOf("/") + 1;
    const list = this.find(`${path.slice(0, slash)}_rels/${path.slice(slash)}.rels`);
    const found: Relation[] = [];
    if (list === undefined) return found;
    parseXml(list, {
      open(name, { Id: id = "", Type: type = "", Target: target = "", TargetMode: mode }) {
        if (name !== "Relationship") return;
        const isExternal = mode === "External";
        const last = type.slice(type.lastIndexOf("/") + 1);
        found.push({ id, type: last, target: isExternal ? target : resolvePath(path, target), isExternal });
      },
    });
    return found;
  }

  /** The archive's part with the document itself, by its relations. */
  mainPart(): string {
    const main = this.relations("").find(({ type }) => type === "officeDocument");
    if (main === undefined) throw new Error("no main part");
    return main.target;
  }
}

/** The path of a part referenced by another part. */
export function resolvePath(from: string, target: string): string {
  const segments = target.startsWith("/") ? [] : from.split("/").slice(0, -1);
  for (const segment of target.split("/")) {
    if (segment === "..") segments.pop();
    else if (segment !== "" && segment !== ".") segments.push(segment);
  }
  return segments.join("/");
}
