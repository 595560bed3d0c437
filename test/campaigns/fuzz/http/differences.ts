/** Responses that only one of the two clients refuses or distrusts, each with the reason. */

interface Stricter {
  /** The difference, with its rule of a specification if there is one; all others are limits. */
  readonly what: string;
  /** Whether the reason may apply. A broken response may match by chance; a well-formed one never does. */
  readonly matches: (response: Scripted) => boolean;
}

/** A response in a server's script. */
interface Scripted {
  readonly text: string;
  /** The final head, and the interim responses before it. */
  readonly heads: string;
}

const headLimitBytes = 64 * 1024;
const sizeLineLimit = 16 * 1024;

const allHeads = /^(?:\s*HTTP\/1\.\d 1\d\d(?:(?!\r\n\r\n)[^])*\r\n\r\n)*(?:(?!\r\n\r\n)[^])*/;
const read = (bytes: Buffer): Scripted => {
  const text = bytes.toString("latin1");
  return { text, heads: allHeads.exec(text)?.[0] ?? "" };
};

const stricter: readonly Stricter[] = [
  {
    what: "a version other than 1.0 and 1.1 (RFC 9110, 2.5: other major versions have another syntax)",
    matches: ({ heads }) => /HTTP\/(?:[^1]|1[^.]|1\.[^01])/.test(heads),
  },
  {
    what: "a content-length of more than 15 digits",
    matches: ({ heads }) => /^content-length:[ \t]*\d{16}/im.test(heads),
  },
  { what: "a status below 100 (RFC 9110, 15)", matches: ({ heads }) => /HTTP\/1\.[01] 0/.test(heads) },
  { what: "a bare carriage return (RFC 9112, 2.2)", matches: ({ text }) => /\r(?!\n|$)/.test(text) },
  {
    what: "a folded line (RFC 9112, 5.2: gateways may discard the message)",
    matches: ({ text, heads }) => /\r\n[ \t]/.test(heads) || /\r\n0+(?:;[^\r]*)?\r\n(?:[^\r]+\r\n)*[ \t]/.test(text),
  },
  {
    what: "a transfer-encoding other than chunked (RFC 9110, 10.1.4: no other one may come, because TE names none)",
    matches: ({ heads }) => /^transfer-encoding:(?![ \t]*chunked[ \t]*\r$)/im.test(heads),
  },
  {
    what: "heads of more than 64 KiB, their punctuation counted",
    matches: ({ heads }) => heads.length > headLimitBytes - 4,
  },
  {
    what: "a chunk extension without a name (RFC 9112, 7.1.1)",
    matches: ({ text }) => /^[\da-f]+(?:;[^\r]*)?;=/im.test(text),
  },
  {
    what: "chunk extensions of more than 16 KiB",
    matches: ({ text }) => new RegExp(`;[^\\r]{${sizeLineLimit}}`).test(text),
  },
];

export function findStricterChecks(bytes: Buffer): readonly string[] {
  const response = read(bytes);
  return stricter.filter(({ matches }) => matches(response)).map(({ what }) => what);
}

/** Errors that Sluice finds only at the end of a line or head, and undici within it. */
export function findLaterChecks(bytes: Buffer): readonly string[] {
  const { text } = read(bytes);
  if (/\r\n[\da-f]+;[^\r]*$/i.test(text)) return ["an error in chunk extensions that have not ended"];
  const heads = text.split("\r\n\r\n").slice(0, -1);
  return heads.every((head) => /^\s*HTTP\/1\.1 1/.test(head)) ? ["an error in a head that has not ended"] : [];
}

/** @returns undici's reasons to refuse a response that Sluice can read */
export function findMoreLenientChecks(bytes: Buffer): readonly string[] {
  const { text, heads } = read(bytes);
  return [
    ...(/HTTP\/1\.1 100/.test(heads) ? ["a continuation that no request asked for (RFC 9110, 15.2)"] : []),
    ...(/^content-length:/im.test(text.slice(heads.length))
      ? ["a content-length in trailers (RFC 9112, 7.1.2: they may be discarded)"]
      : []),
  ];
}

/** @returns fields that both clients read, but that undici carries over to the next response, which it then refuses */
export function findCarriedOverState(bytes: Buffer): readonly string[] {
  const { text, heads } = read(bytes);
  return /^transfer-encoding:/im.test(text.slice(heads.length)) ? ["a transfer-encoding in trailers"] : [];
}

/**
 * Whether a server contradicts itself about keeping its connection, or marks the end of a body in a way that its HTTP version does not have (RFC
 * 9112, 6.1); Sluice takes no risk.
 */
export function isAmbiguous(bytes: Buffer): boolean {
  const { text, heads } = read(bytes);
  if (!/^\s*HTTP\/1\.0/.test(text)) return false;
  if (/^transfer-encoding:/im.test(heads)) return true;
  return /^connection:.*close/im.test(text) && /^connection:.*keep-alive/im.test(text);
}
