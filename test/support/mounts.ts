/** Mounts of this machine. */
import { readFileSync } from "node:fs";

/** Mount points below a folder, innermost first. They are known on Linux only. */
export function mountsBelow(folder: string): string[] {
  if (process.platform !== "linux") return [];
  const places = readFileSync("/proc/self/mounts", "utf8")
    .split("\n")
    .map((line) => (line.split(" ")[1] ?? "").replaceAll("\\040", " "));
  return places.filter((place) => place.startsWith(`${folder}/`)).toReversed();
}
