/** Recognizes changes of files without reading them. */
import { statSync } from "node:fs";

/** A text that changes with the content of a file, made of the file's metadata. Follows links. */
export function fileVersion(path: string): string {
  try {
    const { dev, ino, size, mtimeNs } = statSync(path, { bigint: true });
    return `${dev}:${ino}:${size}:${mtimeNs}`;
  } catch (error) {
    return String((error as NodeJS.ErrnoException).code);
  }
}
