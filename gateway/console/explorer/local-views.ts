/** Views that an earlier console stored in this browser, for each workspace. */
import { session } from "../api/session.ts";
import { explorerPath } from "./address.ts";

interface LocalView {
  readonly name: string;
  readonly query: string;
}

const storageName = (): string => `sluice-views ${session.peek()?.workspace.id ?? ""}`;
/** Maximum length of a view's name in the workspace; an earlier console accepted longer names. */
const maxName = 64;

/** @returns the stored views that are valid: the browser's storage may contain anything */
export function localViews(): readonly LocalView[] {
  try {
    const kept = JSON.parse(localStorage.getItem(storageName()) ?? "[]") as readonly {
      readonly name?: unknown;
      readonly address?: unknown;
    }[];
    return kept.flatMap(({ name, address }) =>
      typeof name === "string" && typeof address === "string" && address.startsWith(explorerPath)
        ? [{ name: name.trim().slice(0, maxName).trim(), query: address.slice(explorerPath.length + 1) }]
        : [],
    );
  } catch {
    return [];
  }
}

export const forgetLocalViews = (): void => localStorage.removeItem(storageName());
