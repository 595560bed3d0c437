/** Recognizes known formats other than text: archives, old office files, pictures, sounds, videos, fonts. */

/** First bytes of each format, in Latin-1, and their offset if not 0. */
const marks: readonly (readonly [mark: string, at?: number])[] = [
  ["PK\x03\x04"],
  ["PK\x05\x06"],
  ["\x1f\x8b"],
  ["\xd0\xcf\x11\xe0"],
  ["7z\xbc\xaf\x27\x1c"],
  ["Rar!\x1a\x07"],
  ["BZh"],
  ["\xfd7zXZ\0"],
  ["\x28\xb5\x2f\xfd"],
  ["ustar", 257],
  ["\x89PNG\r\n\x1a\n"],
  ["\xff\xd8\xff"],
  ["GIF8"],
  ["RIFF"],
  ["BM"],
  ["II*\0"],
  ["MM\0*"],
  ["\0\0\x01\0"],
  ["ftyp", 4],
  ["\x1aE\xdf\xa3"],
  ["FLV\x01"],
  ["\0\0\x01\xba"],
  ["\0\0\x01\xb3"],
  ["\x30\x26\xb2\x75\x8e\x66\xcf\x11"],
  ["OggS"],
  ["fLaC"],
  ["ID3"],
  ["\xff\xfb"],
  ["\xff\xf3"],
  ["\xff\xf2"],
  ["\xff\xf1"],
  ["\xff\xf9"],
  ["FORM"],
  ["#!AMR"],
  ["wOFF"],
  ["wOF2"],
  ["OTTO"],
  ["\0\x01\0\0"],
  ["SQLite format 3\0"],
  ["PAR1"],
];

/** Media types of sounds without a header, recognized only by their type. */
const headless = /^audio\/(?:pcm|l16|l24|basic|g711|x-mulaw|x-alaw|pcmu|pcma|raw)/;

/** @param type media type in lower case */
export function isBinary(bytes: Buffer, type: string): boolean {
  const head = bytes.toString("latin1", 0, 1_024);
  return headless.test(type) || marks.some(([mark, at = 0]) => head.startsWith(mark, at));
}
