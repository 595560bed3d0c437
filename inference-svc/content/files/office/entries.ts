/**
 * Checks that all readers of a ZIP archive find the same entries: some follow the central directory at its end, others
 * read the entries from the start (https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT, 4.3).
 */
import { UnreadableDocument } from "../documents/unreadable.ts";

const endMark = Buffer.from("PK\x05\x06");
const listMark = 0x02014b50;
const entryMark = 0x04034b50;
/** Bytes of a header in the central directory, without name and extra fields. */
const listHead = 46;
const entryHead = 30;
/** Maximum bytes of the optional descriptor after an entry: checksum and sizes, which are longer in archives above 4 GiB. */
const maxDescriptor = 24;
/** Value of a size or offset stored in an extra field instead. */
const elsewhere = 0xffffffff;

interface Entry {
  readonly name: Buffer;
  readonly start: number;
  readonly packed: number;
}

/** Compares the entries with the list at the end of the archive. @throws UnreadableDocument; RangeError for a damaged archive */
export function checkEntries(archive: Uint8Array): void {
  const bytes = Buffer.from(archive.buffer, archive.byteOffset, archive.byteLength);
  const end = bytes.lastIndexOf(endMark);
  if (end === -1) throw new RangeError("no list of entries");
  const list = bytes.readUInt32LE(end + 16);
  // Archives above 4 GiB, too large for any request, store the offset of their central directory elsewhere.
  if (list === elsewhere) throw new UnreadableDocument("is an archive for more than 4 GiB");
  let reached = 0;
  for (const { name, start, packed } of listed(bytes, list).sort((one, other) => one.start - other.start)) {
    const nameLength = bytes.readUInt16LE(start + 26);
    const named = bytes.subarray(start + entryHead, start + entryHead + nameLength);
    const isNext = start >= reached && start - reached <= (reached === 0 ? 0 : maxDescriptor);
    if (!isNext || bytes.readUInt32LE(start) !== entryMark || !named.equals(name)) throw differs();
    reached = start + entryHead + nameLength + bytes.readUInt16LE(start + 28) + packed;
  }
  if (list < reached || list - reached > maxDescriptor) throw differs();
}

const differs = () => new UnreadableDocument("has parts that its list of parts does not name");

function listed(bytes: Buffer, list: number): Entry[] {
  const entries: Entry[] = [];
  for (let at = list; bytes.readUInt32LE(at) === listMark; ) {
    const nameLength = bytes.readUInt16LE(at + 28);
    const extra = at + listHead + nameLength;
    const next = extra + bytes.readUInt16LE(at + 30) + bytes.readUInt16LE(at + 32);
    const packed = bytes.readUInt32LE(at + 20);
    const start = bytes.readUInt32LE(at + 42);
    if (packed === elsewhere || start === elsewhere) throw new UnreadableDocument("is an archive for more than 4 GiB");
    entries.push({ name: bytes.subarray(at + listHead, extra), start, packed });
    at = next;
  }
  return entries;
}
