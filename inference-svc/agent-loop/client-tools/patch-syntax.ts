/**
 * Checks paths, and the syntax of headerless V4A diffs (https://developers.openai.com/api/docs/guides/tools-apply-patch). Clients fail on a diff with other
 * syntax. Only the client can check the context lines against the file.
 */

/** Matches absolute paths, paths into a home, another drive or a parent folder, and paths with characters not allowed in file names. */
// oxlint-disable-next-line no-control-regex -- file systems end names at NUL, and terminals act on the others
const elsewhere = /^[\\/]|^~(?:[\\/]|$)|^[A-Za-z]:|(?:^|[\\/])\.\.(?:[\\/]|$)|[\u0000-\u001f\u007f]/;

/** @returns a sentence for the model; undefined for a path inside the client's working folder, symbolic links aside */
export const findPathProblem = (path: string): string | undefined =>
  elsewhere.test(path) ? "path: must be relative to the working folder and stay in it" : undefined;

const endOfFile = "*** End of File";

/** Splits a diff into lines; a line break at its end does not begin another line. */
function linesOf(diff: string): readonly string[] {
  const lines = diff.split(/\r?\n/);
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}

/** @returns a sentence for the model about the first problem; undefined for a valid diff of a new file */
export function findCreateProblem(diff: string): string | undefined {
  const at = linesOf(diff).findIndex((line) => !line.startsWith("+"));
  return at === -1 ? undefined : `diff, line ${at + 1}: every line of a new file begins with +`;
}

/** @returns a sentence for the model about the first problem; undefined for a valid diff of an existing file */
export function findUpdateProblem(diff: string): string | undefined {
  const reader = new UpdateReader();
  for (const [index, line] of linesOf(diff).entries()) {
    const problem = reader.read(line);
    if (problem !== undefined) return `diff, line ${index + 1}: ${problem}`;
  }
  return reader.end();
}

const emptySection = "a section needs lines that begin with a space, + or -";

/** Reads the sections of an update: a line with @@ (optional for the first section), and the lines below it. */
class UpdateReader {
  /** Lines of the open section; undefined when the next section must begin with @@. */
  #lines: number | undefined = 0;
  #isFirst = true;
  #hasChange = false;

  read(line: string): string | undefined {
    if (line.startsWith("@@")) return this.#begin(line);
    if (line === endOfFile) return this.#endFile();
    if (line.startsWith("***")) return `only ${endOfFile} may begin with ***; the diff has no other header`;
    if (!/^(?:[ +-]|$)/.test(line)) return "begins with neither a space, + nor -";
    if (this.#lines === undefined) return `after ${endOfFile} a section begins with @@`;
    this.#lines++;
    this.#hasChange ||= /^[+-]/.test(line);
    return undefined;
  }

  end(): string | undefined {
    if (this.#lines === 0) return `diff: ${emptySection}`;
    return this.#hasChange ? undefined : "diff: no line is added or removed";
  }

  #begin(line: string): string | undefined {
    if (!this.#isFirst && this.#lines === 0) return emptySection;
    if (line !== "@@" && !/^@@ ./.test(line)) return "after @@ comes nothing, or a space and a line of the file";
    this.#isFirst = false;
    this.#lines = 0;
    return undefined;
  }

  #endFile(): string | undefined {
    if (this.#lines === undefined || this.#lines === 0) return emptySection;
    this.#isFirst = false;
    this.#lines = undefined;
    return undefined;
  }
}
