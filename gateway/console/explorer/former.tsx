/** Redirects addresses of earlier pages (usage and calls) to the explorer. */
import { useLocation } from "preact-iso";
import { useEffect } from "preact/hooks";
import { formerAddress } from "./address.ts";

export function FormerPage() {
  const { path, query, route } = useLocation();
  useEffect(() => route(formerAddress(path, query), true), [path]);
  return null;
}
